/// A JSON object; `null` counts as absent everywhere.
///
/// Events have few fields, each of which is asked for once or twice: they stand in a list, in the order of
/// their keys, which costs less than a hash of each. A stranger's object of thousands is searched by halves.
/// Keys are compared as bytes: to compare texts by what they say costs the square of their combining marks.
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    struct Field: Hashable, Sendable {
        let key: String
        var value: JSONValue

        static func == (left: Field, right: Field) -> Bool {
            left.key.hasSameBytes(as: right.key) && left.value == right.value
        }
        func hash(into hasher: inout Hasher) {
            key.hashBytes(into: &hasher)
            hasher.combine(value)
        }
    }

    /// Ascending by the bytes of the key, none twice, no value null.
    private(set) var fields: [Field]

    package init() { self.init(distinct: []) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(distinct: [])
        for (key, value) in elements { self[key] = value }
    }
    /// What was read, in any order. Nil: a key stands there twice, also where one of its values is null, and
    /// where both say the same in other bytes.
    ///
    /// `isASCII`: no key holds anything else.
    init?(read: [Field], isASCII: Bool) {
        fields = read
        if !Self.isAscending(fields) {
            fields.sort { $0.key.precedesInBytes($1.key) }
            guard Self.isAscending(fields) else { return nil }
        }
        guard isASCII || Self.sayDifferentThings(fields) else { return nil }
        fields.removeAll { $0.value.isNull }
    }
    package init(_ fields: [String: JSONValue]) {
        self.init(distinct: fields.map { Field(key: $0.key, value: $0.value) }.filter { !$0.value.isNull })
    }
    private init(distinct fields: [Field]) {
        self.fields = fields.sorted { $0.key.precedesInBytes($1.key) }
    }

    package static func == (left: JSONObject, right: JSONObject) -> Bool { left.fields == right.fields }
    package func hash(into hasher: inout Hasher) { hasher.combine(fields) }

    private static func isAscending(_ fields: [Field]) -> Bool {
        for index in fields.indices.dropFirst()
        where !fields[index - 1].key.precedesInBytes(fields[index].key) {
            return false
        }
        return true
    }

    /// Whether no two keys are spellings of one text, as é in one scalar and in two.
    private static func sayDifferentThings(_ fields: [Field]) -> Bool {
        var seen: Set<String> = []
        for field in fields {
            guard seen.insert(field.key).inserted else { return false }
        }
        return true
    }

    /// Where a key stands, or would.
    private func place(of key: String) -> (index: Int, isThere: Bool) {
        var low = 0
        var high = fields.count
        while high - low > Self.lookedThrough {
            let middle = (low + high) / 2
            if fields[middle].key.precedesInBytes(key) { low = middle + 1 } else { high = middle + 1 }
        }
        while low < high {
            if fields[low].key.hasSameBytes(as: key) { return (low, true) }
            if key.precedesInBytes(fields[low].key) { break }
            low += 1
        }
        return (low, false)
    }
    private static let lookedThrough = 8

    /// Setting nil or null removes the field.
    package subscript(key: String) -> JSONValue? {
        get {
            guard fields.count > Self.lookedThrough else {
                for field in fields where field.key.hasSameBytes(as: key) { return field.value }
                return nil
            }
            let (index, isThere) = place(of: key)
            return isThere ? fields[index].value : nil
        }
        set {
            let (index, isThere) = place(of: key)
            switch (newValue, isThere) {
            case (nil, true), (.null?, true): fields.remove(at: index)
            case (nil, false), (.null?, false): break
            case (let value?, true): fields[index].value = value
            case (let value?, false): fields.insert(Field(key: key, value: value), at: index)
            }
        }
    }
    package var isEmpty: Bool { fields.isEmpty }
    package var keys: some Sequence<String> { fields.lazy.map(\.key) }
    /// The fields that are not among `names`: what a later version has added.
    package func without(_ names: [String]) -> JSONObject {
        var result = self
        result.fields.removeAll { field in names.contains { field.key.hasSameBytes(as: $0) } }
        return result
    }
    /// These fields, with those of `other` where they are missing here.
    package func filled(from other: JSONObject) -> JSONObject {
        JSONObject(distinct: fields + other.fields.filter { self[$0.key] == nil })
    }

    package static func decode(_ bytes: [UInt8]) throws(WireError) -> JSONObject {
        guard case .object(let object) = try JSONValue.decode(bytes) else {
            throw .malformed("not a JSON object")
        }
        return object
    }
    package func encode() -> [UInt8] { JSONValue.object(self).encode() }
}

extension JSONObject {
    package func string(_ key: String) throws(WireError) -> String {
        try require(key, try optionalString(key))
    }
    package func optionalString(_ key: String) throws(WireError) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text): return text
        default: throw .malformed("\(key) is not a text")
        }
    }
    package func bool(_ key: String) throws(WireError) -> Bool { try require(key, try optionalBool(key)) }
    package func optionalBool(_ key: String) throws(WireError) -> Bool? {
        switch self[key] {
        case nil: return nil
        case .bool(let value): return value
        default: throw .malformed("\(key) is not true or false")
        }
    }
    package func int64(_ key: String) throws(WireError) -> Int64 { try require(key, try optionalInt64(key)) }
    package func optionalInt64(_ key: String) throws(WireError) -> Int64? {
        guard let value = self[key] else { return nil }
        guard case .number(let text) = value, let number = Int64(text) else {
            throw .malformed("\(key) is not a whole number")
        }
        return number
    }
    package func object(_ key: String) throws(WireError) -> JSONObject {
        try require(key, try optionalObject(key))
    }
    package func optionalObject(_ key: String) throws(WireError) -> JSONObject? {
        switch self[key] {
        case nil: return nil
        case .object(let object): return object
        default: throw .malformed("\(key) is not an object")
        }
    }
    /// Base64url text of any length but zero.
    package func bytes(_ key: String) throws(WireError) -> [UInt8] {
        guard let bytes = Base64URL.decode(try string(key)) else {
            throw .malformed("\(key) is not base64url")
        }
        return bytes
    }
    package func memberID(_ key: String) throws(WireError) -> MemberID {
        try require(key, try optionalMemberID(key))
    }
    package func optionalMemberID(_ key: String) throws(WireError) -> MemberID? {
        guard let text = try optionalString(key) else { return nil }
        guard let id = MemberID(text: text) else { throw .malformed("\(key) is not a member id") }
        return id
    }
    package func messageID(_ key: String) throws(WireError) -> MessageID {
        try require(key, try optionalMessageID(key))
    }
    package func optionalMessageID(_ key: String) throws(WireError) -> MessageID? {
        guard let text = try optionalString(key) else { return nil }
        guard let id = MessageID(text: text) else { throw .malformed("\(key) is not a message id") }
        return id
    }
    package func optionalPublicKey(_ key: String) throws(WireError) -> PublicKey? {
        guard let text = try optionalString(key) else { return nil }
        guard let value = PublicKey(text: text) else { throw .malformed("\(key) is not an Ed25519 key") }
        return value
    }
    package func publicKey(_ key: String) throws(WireError) -> PublicKey {
        try require(key, try optionalPublicKey(key))
    }
    private func require<T>(_ key: String, _ value: T?) throws(WireError) -> T {
        guard let value else { throw .malformed("\(key) is missing") }
        return value
    }
}
