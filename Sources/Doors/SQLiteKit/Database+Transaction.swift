internal import CSQLite

extension Database {
    /// Runs `body` between BEGIN IMMEDIATE and COMMIT; an error from either undoes everything.
    ///
    /// Transactions do not nest: one inside another is our own bug. Use `savepoint` for a part that may
    /// fail alone.
    @discardableResult
    package func transaction<T>(_ body: () throws -> T) throws -> T {
        try begin()
        let result: T
        do {
            result = try body()
        } catch {
            rollback()
            throw error
        }
        try commit()
        return result
    }

    /// Starts a transaction that holds the write lock from the beginning.
    package func begin() throws(SQLiteError) {
        precondition(!isInTransaction, "a transaction was begun inside another one")
        try run("BEGIN IMMEDIATE")
    }

    /// Ends the transaction; when that fails, the transaction has been rolled back.
    package func commit() throws(SQLiteError) {
        precondition(isInTransaction, "there is no transaction to commit")
        do {
            try run("COMMIT")
        } catch {
            rollback()
            throw error
        }
    }

    /// Undoes the transaction. SQLite may have done so already after a full disk or an I/O error.
    package func rollback() {
        guard isInTransaction else { return }
        // It can only fail with a transaction that is no longer there.
        _ = try? run("ROLLBACK")
    }

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(checkedConnection()) == 0 }

    /// Runs a part of a transaction that is undone alone when it throws. Savepoints nest.
    @discardableResult
    package func savepoint<T>(_ body: () throws -> T) throws -> T {
        precondition(isInTransaction, "a savepoint needs a transaction around it")
        try run("SAVEPOINT part")
        let result: T
        do {
            result = try body()
        } catch {
            // After a full disk SQLite has rolled back all of it, and the savepoint is gone.
            if isInTransaction {
                try run("ROLLBACK TO part")
                try run("RELEASE part")
            }
            throw error
        }
        try run("RELEASE part")
        return result
    }

    /// Runs `body` inside a read transaction, so that all its queries see one state.
    @discardableResult
    package func snapshot<T>(_ body: () throws -> T) throws -> T {
        precondition(!isInTransaction, "a snapshot was begun inside a transaction")
        try run("BEGIN DEFERRED")
        defer { rollback() }
        return try body()
    }
}
