/// One value bound to a `?` of a statement.
package enum SQLiteValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package init(_ value: Int64?) {
        if let value { self = .integer(value) } else { self = .null }
    }

    package init(_ value: Int?) {
        if let value { self = .integer(Int64(value)) } else { self = .null }
    }

    package init(_ value: String?) {
        if let value { self = .text(value) } else { self = .null }
    }

    package init(_ value: [UInt8]?) {
        if let value { self = .blob(value) } else { self = .null }
    }

    package init(_ value: Bool) { self = .integer(value ? 1 : 0) }
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral
{
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
    package init(floatLiteral value: Double) { self = .real(value) }
    package init(arrayLiteral elements: UInt8...) { self = .blob(elements) }
}
