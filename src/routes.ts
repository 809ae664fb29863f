import { ACTIONS } from './audit/actions.ts'
import { linkCustom, loginCustom } from './auth/custom-login.ts'
import { endSession, refreshTokens } from './auth/refresh-tokens.ts'
import { linkCustomRequest, loginCustomRequest, refreshRequest } from './auth/requests.ts'
import { addXpCall } from './battlepass/add-xp.ts'
import { claimTierCall } from './battlepass/claim-tier.ts'
import { purchasePremiumCall } from './battlepass/purchase-premium.ts'
import { progressCall } from './battlepass/read-progress.ts'
import { clientPost, linkPost, platform, platformStream, playerPost, playerRead, type Route } from './http/route.ts'
import { objectText, RawJson } from './json.ts'
import { getPlayers } from './listing/rest.ts'
import { readPlayer } from './players/read-player.ts'
import { playerRequest, storageGetRequest } from './players/requests.ts'
import { deleteStorageCall, listStorageCall, setStorageCall } from './players/storage.ts'
import { getAuthProviders, putAuthProviders } from './providers/rest.ts'
import { crossHandleCall } from './scenario/cross-handle.ts'
import { runCall } from './scenario/read-run.ts'
import { getScenario, putScenario } from './scenario/rest.ts'
import { startRunCall } from './scenario/start-run.ts'

/** Contents page of the REST surface: method, path, who may call, what it does. */
export const routes: readonly Route[] = [
  // Battle pass (spec 4.1)
  playerPost('/sdk/v1/battlepass/progress', progressCall),
  playerPost('/sdk/v1/battlepass/xp', addXpCall),
  playerPost('/sdk/v1/battlepass/claim', claimTierCall),
  playerPost('/sdk/v1/battlepass/premium', purchasePremiumCall),

  // Login (spec 4.2)
  clientPost('/sdk/v1/authorization/custom', loginCustomRequest, ({ client, input, service }) =>
    loginCustom(service, client, input),
  ),
  linkPost(
    '/sdk/v1/authorization/custom/link',
    linkCustomRequest,
    async ({ client, caller, input, service }) => {
      await linkCustom(service, client, caller, input)
    },
    ACTIONS.linkIdentity,
  ),
  clientPost('/sdk/v1/authorization/refresh', refreshRequest, ({ client, input, service }) =>
    refreshTokens(service, client, input.refreshToken),
  ),
  clientPost('/sdk/v1/authorization/logout', refreshRequest, async ({ client, input, service }) => {
    await service.run(endSession(client.environmentId, input.refreshToken))
  }),

  // The player and its storage
  playerRead('/sdk/v1/player/get', playerRequest, ({ caller, service }) => readPlayer(service.pool, caller)),
  playerRead('/sdk/v1/storage/get', storageGetRequest, async ({ caller, input, service, closed }) => {
    const stored = await service.beginStorageAnswer(caller.playerId, closed).read(caller, input.keys)
    return { values: new RawJson(objectText([...stored].map(([key, { value }]) => [key, value]))) }
  }),
  playerPost('/sdk/v1/storage/list', listStorageCall),
  playerPost('/sdk/v1/storage/set', setStorageCall),
  playerPost('/sdk/v1/storage/delete', deleteStorageCall),

  // Scenario runs
  playerPost('/sdk/v1/scenarios/start', startRunCall),
  playerPost('/sdk/v1/scenarios/cross', crossHandleCall),
  playerPost('/sdk/v1/scenarios/run', runCall),

  // Provider settings (spec 4.3)
  platform('GET', '/platform/v1/projects/:projectId/auth-providers', 'viewer', getAuthProviders),
  platform('PUT', '/platform/v1/projects/:projectId/auth-providers', 'admin', putAuthProviders, {
    action: ACTIONS.setProviders,
    target: () => 'providers',
  }),

  // Players, for live-ops
  platformStream('/platform/v1/projects/:projectId/players.ndjson', 'operator', getPlayers, {
    action: ACTIONS.exportPlayers,
    target: () => 'players',
  }),

  // Scenarios, for designers
  platform('GET', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'viewer', getScenario),
  platform('PUT', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'admin', putScenario, {
    action: ACTIONS.publishScenario,
    target: ({ scenarioId = '' }) => scenarioId,
  }),
]
