import SQLiteKit

/// Brings a database from one schema to the latest, one step a transaction.
enum Migration {
    static func run(on database: Database, from version: Int32) throws {
        for step in Schema.steps where step.version > version {
            try database.transaction {
                try database.execute(step.sql)
                try database.setUserVersion(step.version)
            }
        }
    }
}
