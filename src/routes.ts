import { ACTIONS } from './audit/actions.ts'
import { postCustom, postCustomLink, postLogout, postRefresh } from './auth/rest.ts'
import { postClaim, postPremium, postProgress, postXp } from './battlepass/rest.ts'
import { clientPost, linkPost, platform, playerPost, type Route } from './http/route.ts'
import { postPlayerGet, postStorageDelete, postStorageGet, postStorageSet } from './players/rest.ts'
import { getAuthProviders, putAuthProviders } from './providers/rest.ts'
import { getScenario, postCross, postRun, postStart, putScenario } from './scenario/rest.ts'

/** Contents page of the REST surface: method, path, who may call, handler. */
export const routes: readonly Route[] = [
  // Battle pass (spec 4.1)
  playerPost('/sdk/v1/battlepass/progress', postProgress),
  playerPost('/sdk/v1/battlepass/xp', postXp, ACTIONS.addXp),
  playerPost('/sdk/v1/battlepass/claim', postClaim, ACTIONS.claimTier),
  playerPost('/sdk/v1/battlepass/premium', postPremium, ACTIONS.purchasePremium),

  // Login (spec 4.2)
  clientPost('/sdk/v1/authorization/custom', postCustom),
  linkPost('/sdk/v1/authorization/custom/link', postCustomLink, ACTIONS.linkIdentity),
  clientPost('/sdk/v1/authorization/refresh', postRefresh),
  clientPost('/sdk/v1/authorization/logout', postLogout),

  // The player and its storage
  playerPost('/sdk/v1/player/get', postPlayerGet),
  playerPost('/sdk/v1/storage/get', postStorageGet),
  playerPost('/sdk/v1/storage/set', postStorageSet, ACTIONS.setStorage),
  playerPost('/sdk/v1/storage/delete', postStorageDelete, ACTIONS.deleteStorage),

  // Scenario runs
  playerPost('/sdk/v1/scenarios/start', postStart, ACTIONS.startRun),
  playerPost('/sdk/v1/scenarios/cross', postCross, ACTIONS.crossHandle),
  playerPost('/sdk/v1/scenarios/run', postRun),

  // Provider settings (spec 4.3)
  platform('GET', '/platform/v1/projects/:projectId/auth-providers', 'viewer', getAuthProviders),
  platform('PUT', '/platform/v1/projects/:projectId/auth-providers', 'admin', putAuthProviders, {
    action: ACTIONS.setProviders,
    target: () => 'providers',
  }),

  // Scenarios, for designers
  platform('GET', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'viewer', getScenario),
  platform('PUT', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'admin', putScenario, {
    action: ACTIONS.publishScenario,
    target: ({ scenarioId = '' }) => scenarioId,
  }),
]
