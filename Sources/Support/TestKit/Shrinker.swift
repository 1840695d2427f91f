/// Finds a short list that still fails, given a long one that does.
///
/// Takes away halves, then quarters, and so on down to single elements, as long as what is left still fails.
package enum Shrinker {
    /// `isFailing` must answer the same for the same list. `attemptsMax` bounds how often it is asked.
    package static func shrink<Element>(
        _ list: [Element], attemptsMax: Int = 400, isFailing: ([Element]) -> Bool
    ) -> [Element] {
        var shortest = list
        var attempts = 0
        var size = max(1, list.count / 2)
        while !shortest.isEmpty {
            var start = 0
            var wasShortened = false
            while start < shortest.count {
                guard attempts < attemptsMax else { return shortest }
                attempts += 1
                var candidate = shortest
                candidate.removeSubrange(start..<min(start + size, candidate.count))
                if isFailing(candidate) {
                    shortest = candidate
                    wasShortened = true
                } else {
                    start += size
                }
            }
            if size > 1 {
                size = max(1, size / 2)
            } else if !wasShortened {
                return shortest
            }
        }
        return shortest
    }
}
