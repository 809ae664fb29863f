import { getPlayers } from './accounts/lists/rest.ts'
import { linkIdentityCall, loginCall, logoutCall, refreshCall } from './accounts/login/rest.ts'
import {
  deletePlayerCall,
  endSessionsCall,
  exportPlayerCall,
  listIdentitiesCall,
  listSessionsCall,
  unlinkIdentityCall,
} from './accounts/login/rest-account.ts'
import { endedLogins } from './accounts/login/rest-ended.ts'
import { postPlayers } from './accounts/login/rest-import.ts'
import {
  apple,
  google,
  linkDeviceCall,
  linkOidcCall,
  loginDeviceCall,
  loginOidcCall,
  switchCall,
} from './accounts/login/rest-sign-in.ts'
import { updatePlayerCall } from './accounts/login/update-player.ts'
import { getAuthProviders, putAuthProviders } from './accounts/providers/rest.ts'
import {
  clientPost,
  linkPost,
  platform,
  platformStream,
  playerPost,
  playerRead,
  playerStream,
  playerTagged,
  type Route,
  serverPost,
  serverRead,
  serverStream,
} from './declare/route.ts'
import { addXpCall } from './game/battlepass/add-xp.ts'
import { claimTierCall } from './game/battlepass/claim-tier.ts'
import { purchasePremiumCall } from './game/battlepass/purchase-premium.ts'
import { progressCall } from './game/battlepass/read-progress.ts'
import { seasonCall } from './game/battlepass/read-season.ts'
import { viewCall } from './game/battlepass/read-view.ts'
import { progressOfPlayersCall } from './game/battlepass/rest.ts'
import { grantXpCall } from './game/battlepass/rest-grant-xp.ts'
import { startRunCall } from './game/battlepass/start-run.ts'
import { claimAllMessagesCall, claimMessageCall } from './game/inbox/claim-message.ts'
import { inboxCall } from './game/inbox/list-inbox.ts'
import { markMessagesReadCall } from './game/inbox/mark-messages-read.ts'
import { crossHandleCall } from './game/runs/cross-handle.ts'
import { runCall } from './game/runs/read-run.ts'
import { seasonsCall } from './game/seasons/list-seasons.ts'
import { grantMoneyCall, spendMoneyCall } from './game/wallet/rest.ts'
import { operatorRoutes } from './operations/calls/rest.ts'
import { getJobPlayers, postPlayerList } from './operations/grants/rest.ts'
import { getScenario, putScenario, serverCrossCall } from './operations/publishing/rest.ts'
import { operatorCalls, operatorReads } from './operator-calls.ts'
import { findPlayerCall, readPlayerCall, readStorageCall } from './players/rest.ts'
import { deleteStorageCall, listStorageCall, setStorageCall } from './players/storage.ts'
import { schema } from './schema.ts'

/** Contents page of the REST surface, and of `openapi.json`: method, path, who may call, what it does. */
export const routes: readonly Route[] = [
  // Battle pass (contract 4.1)
  playerPost('/sdk/v1/battlepass/progress', progressCall),
  playerPost('/sdk/v1/battlepass/xp', addXpCall),
  playerPost('/sdk/v1/battlepass/claim', claimTierCall),
  playerPost('/sdk/v1/battlepass/premium', purchasePremiumCall),
  playerPost('/sdk/v1/battlepass/season', seasonCall),
  playerPost('/sdk/v1/seasons/list', seasonsCall),

  // Inbox
  playerPost('/sdk/v1/inbox/list', inboxCall),
  playerPost('/sdk/v1/inbox/claim', claimMessageCall),
  playerPost('/sdk/v1/inbox/claim-all', claimAllMessagesCall),
  playerPost('/sdk/v1/inbox/read', markMessagesReadCall),

  // Login (contract 4.2)
  clientPost('/sdk/v1/authorization/custom', loginCall),
  linkPost('/sdk/v1/authorization/custom/link', linkIdentityCall),
  clientPost('/sdk/v1/authorization/google', google.login),
  linkPost('/sdk/v1/authorization/google/link', google.link),
  clientPost('/sdk/v1/authorization/apple', apple.login),
  linkPost('/sdk/v1/authorization/apple/link', apple.link),
  clientPost('/sdk/v1/authorization/oidc', loginOidcCall),
  linkPost('/sdk/v1/authorization/oidc/link', linkOidcCall),
  clientPost('/sdk/v1/authorization/device', loginDeviceCall),
  linkPost('/sdk/v1/authorization/device/link', linkDeviceCall),
  linkPost('/sdk/v1/authorization/switch', switchCall),
  clientPost('/sdk/v1/authorization/refresh', refreshCall),
  clientPost('/sdk/v1/authorization/logout', logoutCall),

  // The player and its storage
  playerRead('/sdk/v1/player/get', readPlayerCall),
  playerPost('/sdk/v1/player/update', updatePlayerCall),
  playerRead('/sdk/v1/identities/list', listIdentitiesCall),
  playerRead('/sdk/v1/identities/unlink', unlinkIdentityCall),
  playerRead('/sdk/v1/sessions/list', listSessionsCall),
  playerRead('/sdk/v1/sessions/end', endSessionsCall),
  playerStream('/sdk/v1/player/export', exportPlayerCall),
  playerRead('/sdk/v1/player/delete', deletePlayerCall),
  playerRead('/sdk/v1/storage/get', readStorageCall),
  playerPost('/sdk/v1/storage/list', listStorageCall),
  playerPost('/sdk/v1/storage/set', setStorageCall),
  playerPost('/sdk/v1/storage/delete', deleteStorageCall),

  // Provider settings (contract 4.3)
  platform('GET', '/platform/v1/projects/:projectId/auth-providers', 'read', getAuthProviders),
  platform('PUT', '/platform/v1/projects/:projectId/auth-providers', 'manage', putAuthProviders),

  // Scenario runs
  playerPost('/sdk/v1/scenarios/start', startRunCall),
  playerPost('/sdk/v1/scenarios/cross', crossHandleCall),
  playerPost('/sdk/v1/scenarios/run', runCall),
  playerTagged('/sdk/v1/scenarios/view', viewCall),

  // Game servers
  serverRead('/server/v1/players/find', findPlayerCall),
  serverRead('/server/v1/players/progress', progressOfPlayersCall),
  serverPost('/server/v1/battlepass/xp', grantXpCall),
  serverPost('/server/v1/wallet/grant', grantMoneyCall),
  serverPost('/server/v1/wallet/spend', spendMoneyCall),
  serverPost('/server/v1/scenarios/cross', serverCrossCall),
  serverStream('/server/v1/ended-logins', endedLogins),

  // Players, for live-ops
  platformStream('/platform/v1/projects/:projectId/players.ndjson', 'jobs', getPlayers),
  platform('POST', '/platform/v1/projects/:projectId/players.ndjson', 'manage', postPlayers),
  platform('POST', '/platform/v1/projects/:projectId/player-lists', 'jobs', postPlayerList),
  platformStream('/platform/v1/projects/:projectId/grant-jobs/:jobId/players.csv', 'jobs', getJobPlayers),

  // Scenarios, for designers
  platform('GET', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'read', getScenario),
  platform('PUT', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'design', putScenario),

  // Queries and changes of operators
  ...operatorRoutes(operatorCalls, operatorReads, schema),
]
