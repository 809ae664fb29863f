import { answer, out } from '../../declare/answer.ts'
import { header } from '../../declare/contract.ts'
import type { ServerStream } from '../../declare/route.ts'

const endedLogin = answer(
  'A login that has ended. Access tokens of it are no longer valid: their `jti` begins with its id.',
  {
    loginId: out.text('The login.'),
    playerId: out.text('The player.'),
    endedAt: out.time('When it ended.'),
  },
  { name: 'EndedLogin' },
)

const changedPlayer = answer(
  'A player whose status has changed. Access tokens of a player that is not active are not valid.',
  {
    playerId: out.text('The player.'),
    status: out.oneOf(['active', 'banned', 'deleted']),
    changedAt: out.time('When it changed.'),
    until: out.optional(
      out.orNull(out.time('When a ban ends: from then on, the tokens are valid again. Null for any other status.')),
    ),
  },
  { name: 'ChangedPlayer' },
)

const example = { loginId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e22', playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21' }

const endedLoginsAnswer = answer(
  'The `data` of an event `ended`, as JSON. An event `current`, which says that the follower is up to date, has only `environmentId`.',
  {
    environmentId: out.text('The environment of the server key.'),
    logins: out.list(endedLogin, 'Logins that have ended.'),
    players: out.list(changedPlayer, 'Players whose status has changed, with their present status.'),
  },
  {
    name: 'EndedLogins',
    example: {
      environmentId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e20',
      logins: [{ ...example, endedAt: '2026-11-26T10:00:00.000Z' }],
      players: [],
    },
  },
)

export const endedLogins: ServerStream = {
  contract: {
    id: 'followEndedLogins',
    tag: 'Game servers',
    summary: 'Follow the logins that end, as server-sent events, so that a game server refuses their access tokens.',
    answer: endedLoginsAnswer,
    refusals: ['subscriptionLimitExceeded'],
    parameters: [
      header(
        'Last-Event-ID',
        'The `id` of the last event: what has ended since then comes first. Without it, or with an unknown one, all that ended within 25 hours.',
      ),
    ],
  },
  open: ({ caller, service, ...request }) => service.followEnded(caller, request),
}
