import SQLiteKit

/// Brings a database from one schema to the latest: all of the way or not at all.
enum Migration {
    /// Returns: what is wrong with the rows as the latest schema has them, nil where nothing is. Then nothing
    /// has changed. Cost: of `StoreAudit.problem`, and every row of a table that a step changes.
    static func run(on database: Database, from version: Int32, everyRow: Bool = true) throws -> String? {
        guard version < Schema.latest else { return nil }
        do {
            try database.transaction {
                for step in Schema.steps where step.version > version {
                    try database.execute(step.sql)
                    try database.setUserVersion(step.version)
                }
                // A new database has no rows.
                if version > 0, let problem = try StoreAudit.problem(database, everyRow: everyRow) {
                    throw Refused(description: problem)
                }
            }
        } catch let refused as Refused {
            return refused.description
        }
        return nil
    }

    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }
}
