/// “Did you mean …”: the known word that was most likely meant.
package enum NearestMatch {
    /// The candidate with the fewest single-letter mistakes, when there are few enough to be a slip.
    package static func find(_ word: String, in candidates: [String]) -> String? {
        let wanted = Array(word.lowercased())
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased()))
            if distance < best?.distance ?? Int.max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(1, min(wanted.count, best.word.count) / 3 + 1) else {
            return nil
        }
        return best.distance < wanted.count ? best.word : nil
    }

    /// Insertions, deletions, replacements and swapped neighbours each count one.
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        // Words of a command line are short; a longer one is no slip and not worth the square.
        if a.count > 64 || b.count > 64 { return Int.max }
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
