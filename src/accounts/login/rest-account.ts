import { ACTIONS } from '../../audit/actions.ts'
import { type PlayerStream, readCall } from '../../declare/route.ts'
import { exportedLine, exportPlayer } from '../../players/export-player.ts'
import { admitPlayer } from '../../players/player-status.ts'
import { playerRequest } from '../../players/requests.ts'
import { deleteOwnPlayer, deletionAnswer } from './delete-own-player.ts'
import { ownIdentities, readOwnIdentities, unlinkOwnIdentity } from './own-identities.ts'
import { endedSessions, endOwnSessions, ownSessions, readOwnSessions } from './own-sessions.ts'
import { deletePlayerRequest, endSessionsRequest, unlinkOwnRequest } from './requests.ts'

// The player's own say about its account.

export const listIdentitiesCall = readCall({
  request: playerRequest,
  contract: {
    id: 'listIdentities',
    tag: 'Player',
    summary: 'List the identities that log the calling player in.',
    answer: ownIdentities,
  },
  run: ({ caller, service }) => readOwnIdentities(service.pool, caller),
})

export const unlinkIdentityCall = readCall({
  request: unlinkOwnRequest,
  action: ACTIONS.unlinkOwnIdentity,
  contract: {
    id: 'unlinkIdentity',
    tag: 'Player',
    summary: 'Remove an identity from the calling player, so that it is free for another one. The last one stays.',
    answer: null,
    refusals: ['notFound', 'lastIdentity'],
  },
  run: async ({ caller, input, service }) => {
    await service.runAs(caller, unlinkOwnIdentity(caller, input))
    return undefined
  },
})

export const listSessionsCall = readCall({
  request: playerRequest,
  contract: {
    id: 'listSessions',
    tag: 'Player',
    summary: 'List the sessions of the calling player: its logins that go on.',
    answer: ownSessions,
  },
  run: ({ caller, service }) => readOwnSessions(service.pool, caller),
})

export const endSessionsCall = readCall({
  request: endSessionsRequest,
  action: ACTIONS.endOwnSessions,
  contract: {
    id: 'endSessions',
    tag: 'Player',
    summary: 'End one session of the calling player, all others, or all. Access tokens end within two seconds.',
    answer: endedSessions,
    refusals: ['notFound'],
  },
  run: ({ caller, input, service }) => service.runAs(caller, endOwnSessions(caller, input.session)),
})

export const deletePlayerCall = readCall({
  request: deletePlayerRequest,
  action: ACTIONS.deleteOwnPlayer,
  contract: {
    id: 'deletePlayer',
    tag: 'Player',
    summary:
      'Delete the calling player after the delay that its environment sets. All sessions end at once. A login before then cancels the deletion.',
    answer: deletionAnswer,
  },
  run: ({ caller, input, service }) => service.runAs(caller, deleteOwnPlayer(caller, input)),
})

export const exportPlayerCall: PlayerStream = {
  request: playerRequest,
  action: ACTIONS.exportOwnData,
  contract: {
    id: 'exportPlayer',
    tag: 'Player',
    summary:
      'Export all that is stored of the calling player, one JSON object a line. When an export fails midway, the connection is closed before the last chunk.',
    answer: exportedLine,
    mediaType: 'application/x-ndjson',
  },
  async run({ caller, service }) {
    const admit = () => service.runAs(caller, admitPlayer(caller))
    await admit()
    return { type: 'application/x-ndjson; charset=utf-8', pages: exportPlayer(service.operatorPool, caller, admit) }
  },
}
