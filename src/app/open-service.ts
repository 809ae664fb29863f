import { createKeySets } from '../accounts/id-tokens/key-sets.ts'
import { PLATFORM_KEYS } from '../accounts/providers/issuers.ts'
import { createAuditDenied } from '../audit/denied.ts'
import type { Config } from '../base/config.ts'
import { createPlaces } from '../base/fair-queue.ts'
import { createSecrets, type SecretsKey } from '../base/secrets.ts'
import { asServer } from '../callers/server-command.ts'
import { createPreview } from '../game/battlepass/preview.ts'
import { createReplay } from '../game/battlepass/replay-season.ts'
import { createBoostPreview } from '../game/boosts/preview-boost.ts'
import { createGameClocks } from '../game/clock/game-clocks.ts'
import { createCallCounts } from '../operations/figures/calls.ts'
import { createStorageAnswers } from '../players/storage-answers.ts'
import type { openCallers } from './open-callers.ts'
import type { Database } from './open-database.ts'
import type { openEngines } from './open-engines.ts'
import type { openOutgoing } from './open-outgoing.ts'
import type { openStream } from './open-stream.ts'
import type { Reports } from './reports.ts'
import type { Service } from './service.ts'

/** Previews and replays that run at once, each on a connection of the operators. */
const PREVIEWS_AT_ONCE = 3

interface Parts {
  readonly database: Database
  readonly stream: Awaited<ReturnType<typeof openStream>>
  readonly engines: ReturnType<typeof openEngines>
  readonly callers: Awaited<ReturnType<typeof openCallers>>
  readonly outgoing: ReturnType<typeof openOutgoing>
  readonly secretsKeys: readonly SecretsKey[]
}

/** What differs where nothing is counted. */
type Served = Pick<Service, 'run' | 'rateLimits' | 'countCall'>

/** The dependencies of every call. */
export function openService(config: Config, { metrics, warn, failed, failing }: Reports, parts: Parts) {
  const { database, stream, engines, callers, outgoing, secretsKeys } = parts
  const { service: pool, operators: operatorPool } = database.pools
  const { tokens, rateLimits } = callers
  const callCounts = createCallCounts({ pool, onError: failed('calls') })
  const gameClocks = createGameClocks({
    pool,
    onError: failing('clocks', 'the clocks of environments could not be read; each second tries again'),
  })
  const previews = createPlaces(PREVIEWS_AT_ONCE)
  const shared: Omit<Service, keyof Served | 'runAs'> = {
    pool,
    operatorPool,
    transact: database.transact,
    reads: database.reads,
    webhook: outgoing.webhook,
    sendAlert: outgoing.alertSender.send,
    keySets: createKeySets(outgoing.documents),
    issuerClient: outgoing.issuerClient,
    platformKeys: {
      google: config.googleKeysUrl ?? PLATFORM_KEYS.google,
      apple: config.appleKeysUrl ?? PLATFORM_KEYS.apple,
    },
    secrets: createSecrets(secretsKeys),
    tokens,
    followEnded: callers.feed.follow,
    warn: (message, detail) => warn(detail, message),
    countLogin: (operation, result) => metrics.logins.inc({ operation, result }),
    gameClocks,
    settleEvents: stream.numbering.settle,
    auditDenied: createAuditDenied(operatorPool, (action) => metrics.denied.inc({ action })),
    beginStorageAnswer: createStorageAnswers(engines.run),
    previewScenario: createPreview(previews),
    previewBoost: createBoostPreview(previews),
    replaySeason: createReplay(previews),
  }
  /** V8 has one form of object for both services: what it compiles for the calls of the warm-up is for all. */
  const serviceWith = ({ run, rateLimits, countCall }: Served): Service => ({
    ...shared,
    run,
    runAs: (caller, command) =>
      caller.kind === 'server' ? run(asServer(caller, command)) : run(command, () => tokens.requireValid(caller)),
    rateLimits,
    countCall,
  })
  return {
    service: serviceWith({ run: engines.run, rateLimits, countCall: callCounts.count }),
    /** A service whose commands run elsewhere, and which counts nothing. */
    uncounted: (run: Service['run']): Service =>
      serviceWith({
        run,
        rateLimits: { ...rateLimits, countPlayer: () => undefined },
        countCall: () => undefined,
      }),
    callCounts,
    gameClocks,
  }
}
