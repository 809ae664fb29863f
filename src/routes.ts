import { postClaim, postPremium, postProgress, postXp } from './battlepass/rest.ts'
import { platform, playerPost, type Route } from './http/route.ts'
import { getScenario, postCross, postRun, postStart, putScenario } from './scenario/rest.ts'

/** Contents page of the REST surface: method, path, who may call, handler. */
export const routes: readonly Route[] = [
  // Battle pass (spec 4.1)
  playerPost('/sdk/v1/battlepass/progress', postProgress),
  playerPost('/sdk/v1/battlepass/xp', postXp),
  playerPost('/sdk/v1/battlepass/claim', postClaim),
  playerPost('/sdk/v1/battlepass/premium', postPremium),

  // Scenario runs
  playerPost('/sdk/v1/scenarios/start', postStart),
  playerPost('/sdk/v1/scenarios/cross', postCross),
  playerPost('/sdk/v1/scenarios/run', postRun),

  // Scenarios, for designers
  platform('GET', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'viewer', getScenario),
  platform('PUT', '/platform/v1/projects/:projectId/scenarios/:scenarioId', 'admin', putScenario),
]
