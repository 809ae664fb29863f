/** Begins a transaction that may hold its locks for as long as a busy machine needs: the service's sessions end idle ones. */
export const BEGIN = 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0'
