// A writer with only the group commit and the bus of the built service, so that it starts quickly. It creates players,
// eight at a time, and prints a dot for each that is acknowledged. It kills itself right after the group number
// LAST_GROUP is committed, before the events are numbered and published and the calls are acknowledged.

import { createPool } from '../../dist/db/pool.js'
import { createNumbering } from '../../dist/events/numbering.js'
import { createRedisBus } from '../../dist/events/redis-bus.js'
import { createPlayer } from '../../dist/players/create-player.js'
import { createGroupCommit } from '../../dist/transactions/group-commit.js'

const { DATABASE_URL: url, REDIS_URL, ENVIRONMENT_ID, LAST_GROUP } = process.env
const pool = createPool({ url, connections: 4, onError: () => undefined })
const bus = createRedisBus({ url: REDIS_URL })
const numbering = createNumbering({ pool, ownPool: pool, bus, onError: () => undefined })
let groups = 0
const writes = createGroupCommit({
  pool,
  committed(group) {
    groups += 1
    if (groups === Number(LAST_GROUP)) process.kill(process.pid, 'SIGKILL')
    numbering.committed(group)
  },
})

async function write() {
  for (;;) {
    await writes.run(createPlayer(ENVIRONMENT_ID, null))
    process.stdout.write('.')
  }
}

await Promise.all(Array.from({ length: 8 }, write))
