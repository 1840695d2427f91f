/// Times as people and programs write them: RFC 3339 in UTC.
package enum TimeText {
    /// For example `2026-07-14T09:30:05Z`, or with milliseconds `2026-07-14T09:30:05.120Z`.
    package static func utc(milliseconds: Int64, withMilliseconds: Bool = true) -> String {
        let (seconds, rest) = floorDivide(milliseconds, 1000)
        let text = utcDigits(seconds: seconds, dateSeparator: "T")
        return withMilliseconds ? "\(text).\(pad(rest, 3))Z" : "\(text)Z"
    }

    package static func utc(seconds: Int64) -> String {
        "\(utcDigits(seconds: seconds, dateSeparator: "T"))Z"
    }

    /// For a person reading a table: `2026-07-14 09:30:05`.
    package static func readable(seconds: Int64) -> String { utcDigits(seconds: seconds, dateSeparator: " ") }

    /// For a person: `3 s`, `5 min`, `2 h`, `4 d`.
    package static func age(seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(max(0, seconds)) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// How long ago something was. A time that no clock shows counts as now.
    package static func age(since past: Int64, now: Int64) -> String {
        let (seconds, overflow) = now.subtractingReportingOverflow(past)
        return age(seconds: overflow ? 0 : seconds)
    }

    /// Seconds from `30s`, `10m`, `2h` or `7d`; nil when it is none of these.
    package static func parseAge(_ text: String) -> Int64? {
        guard let unit = text.last, let count = digits(text.dropLast()) else { return nil }
        switch unit {
        case "s": return count
        case "m": return count * 60
        case "h": return count * 3600
        case "d": return count * 86_400
        default: return nil
        }
    }

    /// Seconds since 1970 from `2026-07-14`, `2026-07-14T09:30`, `2026-07-14 09:30:05` (UTC, `Z` allowed) or
    /// a plain number of seconds; nil when it is none of these.
    package static func parse(_ text: String) -> Int64? {
        if let seconds = Int64(text) { return seconds }
        let trimmed = text.hasSuffix("Z") ? String(text.dropLast()) : text
        let halves = trimmed.split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "T" || $0 == " " })
        guard let date = halves.first, halves.count <= 2 else { return nil }
        let dateParts = date.split(separator: "-", omittingEmptySubsequences: false).map { digits($0) }
        guard dateParts.count == 3, let year = dateParts[0], let month = dateParts[1], let day = dateParts[2],
            (1970...9999).contains(year), (1...12).contains(month),
            (1...daysOfMonth(year, month)).contains(day)
        else { return nil }
        var time: Int64 = 0
        if halves.count == 2 {
            let parts = halves[1].split(separator: ":", omittingEmptySubsequences: false).map { digits($0) }
            guard (2...3).contains(parts.count), let hour = parts[0], let minute = parts[1], hour < 24,
                minute < 60
            else { return nil }
            var second: Int64 = 0
            if parts.count == 3 {
                guard let value = parts[2], value < 60 else { return nil }
                second = value
            }
            time = hour * 3600 + minute * 60 + second
        }
        return daysSince1970(year: year, month: month, day: day) * 86_400 + time
    }

    private static func digits(_ text: Substring) -> Int64? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    private static func daysOfMonth(_ year: Int64, _ month: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func utcDigits(seconds: Int64, dateSeparator: String) -> String {
        let (days, rest) = floorDivide(seconds, 86_400)
        let (year, month, day) = civil(daysSince1970: days)
        let time = "\(pad(rest / 3600, 2)):\(pad(rest / 60 % 60, 2)):\(pad(rest % 60, 2))"
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))\(dateSeparator)\(time)"
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func floorDivide(_ value: Int64, _ by: Int64) -> (Int64, Int64) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: by)
        return rest < 0 ? (quotient - 1, rest + by) : (quotient, rest)
    }

    // The Gregorian calendar counted from the first of March, where the leap day is the year's last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floorDivide(shiftedYear, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
