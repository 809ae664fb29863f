import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NamedTest } from '../guarantees.ts'

// Ways to break the product, at least one for each guarantee of test/README.md. Each must make the fault suite fail.

export interface Mutation {
  readonly what: string
  /** Relative to the root. */
  readonly file: string
  /** Texts that occur once in the file, with their replacements. */
  readonly changes: readonly (readonly [find: string, by: string])[]
  /** The tests of the table that must fail. */
  readonly tests: readonly NamedTest[]
}

export const MUTATIONS: readonly Mutation[] = [
  {
    what: 'an answer before COMMIT',
    file: 'src/transactions/execute-group.ts',
    changes: [
      [
        'const results = await send(client, statements)\n  if (!isAlone',
        'decisions.answer(() => true)\n  const results = await send(client, statements)\n  if (!isAlone',
      ],
    ],
    tests: [
      {
        file: 'faults/crash.test.ts',
        title:
          'charges once when the answer to COMMIT is lost … times, and the repeat goes to another service (contract 4.1)',
      },
    ],
  },
  {
    what: 'events numbered past transactions that still run',
    file: 'src/events/numbering.ts',
    changes: [['least(max(xid), pg_snapshot_xmin(pg_current_snapshot())::text::bigint)', 'max(xid)']],
    tests: [
      {
        file: 'events/numbering.test.ts',
        title: 'keep the order of a player whose event was not yet committed when later ones of others were numbered',
      },
    ],
  },
  {
    what: 'no check of idempotency keys',
    file: 'src/transactions/command.ts',
    changes: [['const stored = slot.value', 'const stored = Math.random() < 0 ? slot.value : undefined']],
    tests: [
      {
        file: 'faults/two-services.test.ts',
        title: 'charge once and answer identically when … purchases have one key',
      },
    ],
  },
  {
    what: 'grants of a batch without a key',
    file: 'src/game/battlepass/rest-grant-xp.ts',
    changes: [['{ ...input, idempotencyKey }, {', '{ ...input, idempotencyKey: idempotencyKey && null }, {']],
    tests: [
      {
        file: 'faults/crash.test.ts',
        title:
          'gives every grant once, and answers as if nothing had happened, however often it is killed before and after',
      },
    ],
  },
  {
    what: 'no retry of conflicts',
    file: 'src/transactions/run-group.ts',
    changes: [['const MAX_RETRIES = 20', 'const MAX_RETRIES = 0']],
    tests: [
      { file: 'transactions/group-commit.test.ts', title: 'retries a group that ends with … until it commits, once' },
    ],
  },
  {
    what: 'a swallowed publish',
    file: 'src/events/redis-bus.ts',
    changes: [
      [
        'publisher.publish(channelOf(environmentId), printSignal(instance, environmentId, events)).then(sent, sent)',
        'printSignal(instance, environmentId, events)\n      sent()',
      ],
    ],
    tests: [
      {
        file: 'events/instances.test.ts',
        title:
          'delivers on one instance what another writes, well before the check of Postgres each second (contract 14)',
      },
    ],
  },
  {
    what: 'no check whether a tier is claimed',
    file: 'src/game/battlepass/decide.ts',
    changes: [['if (pass.claimed.has(key)) {', 'if (pass.claimed.has(key) && Math.random() < 0) {']],
    tests: [{ file: 'faults/two-services.test.ts', title: 'grant a tier once when … claims of it arrive' }],
  },
  {
    what: 'no check whether premium is owned',
    file: 'src/game/battlepass/decide.ts',
    changes: [["if (pass.premiumOwned) return { kind: 'refused', error: 'premium already owned' }", '']],
    tests: [{ file: 'faults/two-services.test.ts', title: 'charge once when … purchases have different keys' }],
  },
  {
    what: 'no check whether a level is reached',
    file: 'src/game/battlepass/decide.ts',
    changes: [["if (by !== 'support' && !isReached) return { kind: 'refused', error: 'level not reached' }", '']],
    tests: [
      {
        file: 'faults/two-services.test.ts',
        title: 'never grant an unearned tier when a claim races its xp and its purchase, in … rounds',
      },
    ],
  },
  {
    what: 'a level that is crossed again',
    file: 'src/game/battlepass/decide.ts',
    changes: [['const leveledUp = level > pass.level', 'const leveledUp = level >= pass.level']],
    tests: [
      {
        file: 'faults/two-services.test.ts',
        title: 'sum … additions of xp exactly, and cross each level once',
      },
    ],
  },
  {
    what: 'phases of a season that are told again',
    file: 'src/game/seasons/season-schedule.ts',
    changes: [['  WHERE p.told_at IS NULL`', '  WHERE true`']],
    tests: [{ file: 'scenario/season-events.test.ts', title: 'are not told again, whatever edits follow' }],
  },
  {
    what: 'a season that is settled while claims are open',
    file: 'src/game/seasons/settle-pass.ts',
    changes: [
      [
        'if (!definition || !pass || !isSettledAt(definition, pass.node, pass.nowIn(group))) return null',
        'if (!definition || !pass) return null',
      ],
    ],
    tests: [{ file: 'battlepass/season-end.test.ts', title: 'stops when claims open again in its midst' }],
  },
  {
    what: 'xp beyond int64',
    file: 'src/game/battlepass/decide.ts',
    changes: [["if (xp > MAX_INT64) return { kind: 'refused', reason: 'xpLimitExceeded' }", '']],
    tests: [
      {
        file: 'battlepass/contract.test.ts',
        title: 'reaches 2^63-1 exactly, refuses one more and writes nothing then',
      },
    ],
  },
  {
    what: 'boosts that change without a new revision of their scenarios',
    file: 'src/game/boosts/stored.ts',
    changes: [['SET version = t.version, boosts', 'SET boosts']],
    tests: [
      {
        file: 'battlepass/boosts.test.ts',
        title:
          'counts for every call that begins after the answer of a change, while calls run from memory on two instances',
      },
    ],
  },
  {
    what: 'rewards of a purchase without a check of their room',
    file: 'src/game/battlepass/purchase-premium.ts',
    changes: [['...instant, ...rewards', '...rewards']],
    tests: [
      {
        file: 'battlepass/premium-extras.test.ts',
        title: 'may use the room that the price leaves, and not one more',
      },
    ],
  },
  {
    what: 'xp that becomes a currency without a check of its room',
    file: 'src/game/battlepass/add-xp.ts',
    changes: [
      [
        'requireRoom(player, walked ? [...converted, ...walked.rewards] : converted)',
        'if (walked) requireRoom(player, [...converted, ...walked.rewards])',
      ],
    ],
    tests: [
      { file: 'battlepass/beyond.test.ts', title: 'refuses xp whose currency would not fit, and changes nothing' },
    ],
  },
  {
    what: 'no check of the bonus tiers of a day',
    file: 'src/game/battlepass/claim.ts',
    changes: [["if (!isRepeat && decision.isOverDay) return refused('daily limit reached')", '']],
    tests: [
      {
        file: 'battlepass/beyond.test.ts',
        title: 'are kept by calls at once, and claimAll claims the first of them',
      },
    ],
  },
  {
    what: 'rewards beyond int64',
    file: 'src/game/wallet/holdings.ts',
    changes: [['if (total > MAX_INT64) return', 'if (total < 0n) return']],
    tests: [
      { file: 'battlepass/contract-claims.test.ts', title: 'refuses rewards that overflow … and writes nothing' },
    ],
  },
  {
    what: 'a ledger that does not sum up to its balance',
    file: 'src/game/wallet/holdings.ts',
    changes: [['{ id: entryId, currency, amount, balance,', '{ id: entryId, currency, amount: amount + 1n, balance,']],
    tests: [
      {
        file: 'faults/two-services.test.ts',
        title: 'equal their ledgers in every read, while connections break and answers are lost',
      },
    ],
  },
  {
    what: 'no check whether a player is banned',
    file: 'src/players/player-status.ts',
    changes: [
      ["if (found?.kind === 'everything') throw banned(found)", 'if (found === undefined) throw banned(found)'],
    ],
    tests: [
      {
        file: 'support/support-accounts.test.ts',
        title: 'refuses the next call over REST and GraphQL, login, link and refresh, and on another instance',
      },
    ],
  },
  {
    what: 'more keys of a storage than the limit',
    file: 'src/players/storage.ts',
    changes: [['return size <= MAX_STORAGE_KEYS', 'return size <= 2 * MAX_STORAGE_KEYS']],
    tests: [
      {
        file: 'login/login-races.test.ts',
        title: 'accept one of twenty logins that each add ten keys to 990 and write nothing of the others (contract 8)',
      },
    ],
  },
  {
    what: 'another pair for a refresh whose answer was lost',
    file: 'src/accounts/login/refresh-tokens.ts',
    changes: [['const REPLAY_MS = 10_000', 'const REPLAY_MS = -1']],
    tests: [
      { file: 'login/refresh.test.ts', title: 'answers fifty concurrent uses of one token with the same pair, on …' },
    ],
  },
  {
    what: 'a stolen refresh token that ends nothing',
    file: 'src/accounts/login/refresh-tokens.ts',
    changes: [['      tokens.revoke(token)\n      return null', '      return null']],
    tests: [{ file: 'login/refresh.test.ts', title: 'ends every token of the family …' }],
  },
  {
    what: 'tokens whose signature is not checked',
    file: 'src/callers/token-ring.ts',
    changes: [
      [
        'const { payload } = await jwtVerify(',
        "const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())\n      if (Math.random() < 0) await jwtVerify(",
      ],
    ],
    tests: [
      { file: 'callers/tokens.test.ts', title: 'is refused with a token that is changed or truncated anywhere' },
      {
        file: 'callers/tokens.test.ts',
        title: 'is refused with a token signed with HS256 and the public key, in every encoding',
      },
    ],
  },
  {
    what: 'webhooks on private addresses',
    file: 'src/base/outgoing/addresses.ts',
    changes: [["if (!isIPv6(address)) return !privateV4.check(address, 'ipv4')", 'if (Math.random() < 1) return true']],
    tests: [{ file: 'webhook/addresses.test.ts', title: 'is never connected to, in … spellings, over http and https' }],
  },
  {
    what: 'a webhook whose refusal is tried again',
    file: 'src/accounts/webhook/webhook.ts',
    changes: [["if (ending.kind !== 'unavailable' ||", "if (ending.kind === 'answered' ||"]],
    tests: [{ file: 'webhook/webhook.test.ts', title: 'treats every 4xx as a rejection after one call' }],
  },
  {
    what: 'a replaced secret that stops signing at once',
    file: 'src/accounts/providers/rotate-secret.ts',
    changes: [['const isKept = isNew && overlapSeconds > 0', 'const isKept = isNew && overlapSeconds < 0']],
    tests: [
      {
        file: 'providers/rotation.test.ts',
        title: 'applies to the next login on every instance, and the old secret also signs during the overlap',
      },
    ],
  },
  {
    what: 'a revoked key that keeps working',
    file: 'src/callers/keys.ts',
    changes: [['FROM platform_keys WHERE hash = $1 AND revoked_at IS NULL', 'FROM platform_keys WHERE hash = $1']],
    tests: [{ file: 'callers/keys.test.ts', title: 'grants only its role and stops working when it is revoked' }],
  },
  {
    what: 'sockets that stay open after a ban',
    file: 'src/callers/access-watch.ts',
    changes: [['    entry.end(reason)', '']],
    tests: [
      {
        file: 'events/callers.test.ts',
        title: 'end within two seconds of …, on every instance',
      },
    ],
  },
  {
    what: 'xp that is taken along at each start',
    file: 'src/game/battlepass/next-season.ts',
    changes: [["  addStep(group, player, { scenarioId: from.scenarioId, nodeId: from.node.id }, 'carried')\n", '']],
    tests: [
      {
        file: 'battlepass/next-season.test.ts',
        title: 'is given once to a player that starts twenty times at once, with and without keys, on two instances',
      },
      {
        file: 'battlepass/season-life.test.ts',
        title: 'leaves each player with what the rules allow, through random lives of seasons',
      },
    ],
  },
  {
    what: 'a cursor of lost events that is accepted',
    file: 'src/events/subscriptions.ts',
    changes: [
      ["if (after !== null && !(await buffer.has(after, filter.playerId))) throw new Refusal('cursorExpired')", ''],
    ],
    tests: [
      {
        file: 'events/restore.test.ts',
        title:
          'ends with CURSOR_EXPIRED every subscription that sent lost events, over WebSocket and SSE, and expires every cursor of a lost event, on all instances (contract 14)',
      },
    ],
  },
  {
    what: 'a replay that skips an event',
    file: 'src/events/subscriptions.ts',
    changes: [
      [
        'const position = after?.position ?? buffer.head',
        'const position = (after?.position ?? buffer.head) + (after === null ? 0n : 1n)',
      ],
    ],
    tests: [
      {
        file: 'events/instances.test.ts',
        title:
          'has no gap and no duplicate over hundreds of reconnects at random cursors to random instances while events are written (contract 14)',
      },
    ],
  },
  {
    what: 'a grant job that does not note what it gave',
    file: 'src/operations/grants/give.ts',
    changes: [
      ['row.set({ ...before, ...result, outcome, cause', 'row.set({ ...before, ...result, outcome: null, cause'],
    ],
    tests: [
      {
        file: 'grants/grant-job-life.test.ts',
        title: 'whatever dies at whatever step, on two instances, beside a player who spends',
      },
    ],
  },
  {
    what: 'a message whose claim is not noted',
    file: 'src/game/inbox/claim-message.ts',
    changes: [
      ['putMessage(player, { ...message, claimedAt: group.now,', 'putMessage(player, { ...message, claimedAt: null,'],
    ],
    tests: [
      {
        file: 'inbox/inbox.test.ts',
        title: 'grants once, on whichever instance it is repeated, also after the message has expired',
      },
    ],
  },
  {
    what: 'a clock for tests that calls from memory do not prove',
    file: 'src/game/clock/game-clock.ts',
    changes: [['SET version = t.version, clock = w.clock', 'SET clock = w.clock']],
    tests: [
      {
        file: 'battlepass/game-clock.test.ts',
        title: 'counts for every call that begins after the answer, while calls run from memory on two instances',
      },
    ],
  },
  {
    what: 'an alert webhook that every instance takes',
    file: 'src/operations/alerts/watch-problems.ts',
    changes: [['w SET looked_at = clock_timestamp()', 'w SET looked_at = w.looked_at']],
    tests: [
      {
        file: 'alerts/alert-webhooks.test.ts',
        title: 'gets each message from one instance, however many look at once',
      },
    ],
  },
  {
    what: 'a draft that overwrites what others wrote',
    file: 'src/operations/publishing/drafts.ts',
    changes: [['if (revision === seen) return', 'if (revision >= seen) return']],
    tests: [
      {
        file: 'scenario/drafts.test.ts',
        title: 'is changed once by ten who have seen the same revision, and nobody overwrites another',
      },
    ],
  },
  {
    what: 'a draft that counts as approved',
    file: 'src/operations/publishing/drafts.ts',
    changes: [['AND approved_revision = revision AND sha256 = $4', 'AND sha256 = $4']],
    tests: [
      {
        file: 'scenario/drafts.test.ts',
        title: 'publishes only what a second person has approved, over GraphQL and REST, now and later, for every role',
      },
    ],
  },
  {
    what: 'one gift more than a role may give in a day',
    file: 'src/operations/calls/role-limits.ts',
    changes: [['cardinality(t.gifts) < $5::int', 'cardinality(t.gifts) <= $5::int']],
    tests: [
      {
        file: 'roles/role-limits.test.ts',
        title:
          'maxGiftsPerDay: of ten gifts at once as many are given as the limit has, and on the next day as many again',
      },
    ],
  },
  {
    what: 'shared views that are counted without a lock',
    file: 'src/project/shared-views/shared-views.ts',
    changes: [
      [
        'could pass the limit.\n  await lockProject(client, projectId)',
        'could pass the limit.\n  if (Math.random() < 0) await lockProject(client, projectId)',
      ],
    ],
    tests: [
      {
        file: 'shared-views/shared-views.test.ts',
        title: 'is one of at most … of its page, also when twelve are shared at once',
      },
    ],
  },
  {
    what: 'a replay that forgets the limits of xp',
    file: 'src/game/battlepass/replay-player.ts',
    changes: [['allowXp(rules, counts, sent, at)', 'allowXp(rules, null, sent, at)']],
    tests: [
      {
        file: 'battlepass/replay-season.test.ts',
        title: 'reaches levels by the xp that the draft grants, by its limits of then and there',
      },
    ],
  },
  {
    what: 'a grant job that is undone twice',
    file: 'src/operations/grants/manage-jobs.ts',
    changes: [
      [
        'if (rows[0]) return { outcome: { job: rows[0].id } }',
        'if (rows[0] && Math.random() < 0) return { outcome: { job: rows[0].id } }',
      ],
    ],
    tests: [
      {
        file: 'grants/grant-job-life.test.ts',
        title: 'takes back what is left, once, and tells before what was spent',
      },
    ],
  },
]

/** The text of a mutation's file with its changes. Throws unless each text to change occurs exactly once. */
export async function mutated(root: string, { what, file, changes }: Mutation): Promise<string> {
  let text = await readFile(join(root, file), 'utf8')
  for (const [find, by] of changes) {
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`"${what}" finds its text ${count} times in ${file}, not once: ${find}`)
    text = text.replace(find, () => by)
  }
  return text
}

export async function apply(root: string, mutation: Mutation): Promise<() => Promise<void>> {
  const path = join(root, mutation.file)
  const [before, after] = [await readFile(path, 'utf8'), await mutated(root, mutation)]
  await writeFile(path, after)
  return () => writeFile(path, before)
}
