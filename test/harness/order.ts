import { existsSync } from 'node:fs'
import { BaseSequencer, type TestSpecification, type Vitest } from 'vitest/node'

/**
 * The files that take longest, the longest first: the end of a run has only short ones, so that no worker is left alone
 * with a long file. Vitest knows the times of the files only where it has run before, which a fresh clone has not.
 */
const FIRST = [
  'events/clients',
  'release',
  'serve',
  'webhook/webhook-endless',
  'serve/live/socket-rules',
  'transactions/linearizability',
  'faults/slow-sockets',
  'console/feed.browser',
  'unity',
  'dev/embedded',
  'ops/rotation',
  'ops/proxy',
  'support/support',
  'dev/seed',
  'events/faults',
  'faults/crash',
  'client/games.browser',
  'ops/upgrade',
  'faults/walk',
  'ops/backup',
  'console/designer-views.browser',
  'client/faults',
  'client/kill',
  'faults/frozen-postgres',
  'login/login-races',
  'db/tls',
  'declare/graphql/pages',
  'monitoring',
  'events/sse',
  'scenario/preview',
  'client/package',
  'faults/stop',
  'faults/postgres-causes',
  'cli',
].map((name) => `test/${name}.test.ts`)

export default class Order extends BaseSequencer {
  constructor(vitest: Vitest) {
    super(vitest)
    const missing = FIRST.filter((name) => !existsSync(name))
    if (missing.length > 0) throw new Error(`test/harness/order.ts names files that are not there: ${missing}`)
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = FIRST.findIndex((name) => moduleId.endsWith(`/${name}`))
      return place === -1 ? FIRST.length : place
    }
    // The sort is stable: the others stay in vitest's order.
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}
