internal import CQREncode

/// QR codes (ISO/IEC 18004) for links, with error correction level M.
package enum QRCode {
    /// Whether the terminal shows light letters on a dark background, which most do, or the reverse.
    package enum Background: Sendable { case dark, light }

    /// The modules of the code without its quiet zone. Shape: rows of columns, true is dark.
    ///
    /// Nil when the text is empty, holds a NUL, or is longer than the 2331 bytes that fit.
    package static func modules(_ text: String) -> [[Bool]]? {
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        guard let code = unsafe QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else { return nil }
        defer { unsafe QRcode_free(code) }
        let width = Int(unsafe code.pointee.width)
        guard let data = unsafe code.pointee.data else { return nil }
        return (0..<width).map { row in
            (0..<width).map { column in unsafe data[row * width + column] & 1 == 1 }
        }
    }

    /// The code as text for a terminal, two rows of modules to a line, with the quiet zone around it.
    ///
    /// Nil as in `modules`. Every line ends with a line feed but the last.
    package static func terminal(_ text: String, background: Background = .dark) -> String? {
        guard let modules = modules(text) else { return nil }
        let size = modules.count + 2 * quietZone
        func isInk(_ row: Int, _ column: Int) -> Bool {
            let (row, column) = (row - quietZone, column - quietZone)
            let isDark =
                modules.indices.contains(row) && modules.indices.contains(column) && modules[row][column]
            // On a dark background the letters' colour is the light one. A last half line stays background.
            return background == .dark ? !isDark : isDark
        }
        return stride(from: 0, to: size, by: 2).map { row in
            String(
                (0..<size).map { column in
                    switch (isInk(row, column), row + 1 < size && isInk(row + 1, column)) {
                    case (true, true): "█" as Character
                    case (true, false): "▀"
                    case (false, true): "▄"
                    case (false, false): " "
                    }
                })
        }.joined(separator: "\n")
    }
}

private let quietZone = 4
