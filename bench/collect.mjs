import { isMainThread, Worker } from 'node:worker_threads'

// Loaded before a server whose memory is measured: on SIGUSR2 it gives back all the memory that it does not use, so
// that the measurement has live memory only, without garbage.

/** From another thread: a thread that collects for its own inspector waits for itself. */
const COLLECT = `
  const { Session } = require('node:inspector')
  const session = new Session()
  session.connectToMainThread()
  session.post('HeapProfiler.collectGarbage', () => session.disconnect())
`

if (isMainThread) {
  process.on('SIGUSR2', () => new Worker(COLLECT, { eval: true, env: {}, execArgv: [] }).unref())
}
