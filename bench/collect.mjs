import { isMainThread, Worker } from 'node:worker_threads'

// Loaded before a server whose memory is measured: on SIGUSR2 the server collects its garbage, so that only live memory
// is measured.

/** Runs in another thread: a thread that asks its own inspector to collect garbage waits for itself. */
const COLLECT = `
  const { Session } = require('node:inspector')
  const session = new Session()
  session.connectToMainThread()
  session.post('HeapProfiler.collectGarbage', () => session.disconnect())
`

if (isMainThread) {
  process.on('SIGUSR2', () => new Worker(COLLECT, { eval: true, env: {}, execArgv: [] }).unref())
}
