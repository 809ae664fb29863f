// Contents page of the operators' calls and queries: each feature's declarations.

import { segmentCalls } from './accounts/lists/calls.ts'
import { listingReads } from './accounts/lists/reads.ts'
import { loginCalls } from './accounts/login/calls.ts'
import { loginReads } from './accounts/login/log/reads.ts'
import { providerCalls } from './accounts/providers/calls.ts'
import { providerReads } from './accounts/providers/reads.ts'
import { auditReads } from './audit/reads.ts'
import type { OperatorCall } from './declare/operator-call.ts'
import type { OperatorRead } from './declare/operator-read.ts'
import { battlePassReads } from './game/battlepass/reads.ts'
import { boostCalls } from './game/boosts/calls.ts'
import { boostReads } from './game/boosts/reads.ts'
import { seasonReads } from './game/seasons/reads.ts'
import { catalogueCalls } from './game/wallet/calls.ts'
import { alertCalls } from './operations/alerts/calls.ts'
import { alertReads } from './operations/alerts/reads.ts'
import { calendarReads } from './operations/calendar/reads.ts'
import { figureReads } from './operations/figures/reads.ts'
import { grantCalls } from './operations/grants/calls.ts'
import { grantReads } from './operations/grants/reads.ts'
import { problemReads } from './operations/problems/reads.ts'
import { scenarioCalls } from './operations/publishing/calls.ts'
import { draftCalls } from './operations/publishing/calls-drafts.ts'
import { scenarioReads } from './operations/publishing/reads.ts'
import { supportCalls } from './operations/support/calls.ts'
import { projectCalls } from './project/projects/calls.ts'
import { keyCalls } from './project/projects/calls-keys.ts'
import { projectReads } from './project/projects/reads.ts'
import { roleCalls } from './project/roles/calls.ts'
import { sharedViewCalls } from './project/shared-views/calls.ts'
import { sharedViewReads } from './project/shared-views/reads.ts'
import { singleSignOnCalls } from './project/single-sign-on/calls.ts'
import { singleSignOnReads } from './project/single-sign-on/reads.ts'

export const operatorCalls: readonly OperatorCall[] = [
  ...alertCalls,
  ...boostCalls,
  ...catalogueCalls,
  ...grantCalls,
  ...segmentCalls,
  ...loginCalls,
  ...projectCalls,
  ...keyCalls,
  ...providerCalls,
  ...roleCalls,
  ...scenarioCalls,
  ...draftCalls,
  ...sharedViewCalls,
  ...singleSignOnCalls,
  ...supportCalls,
]

export const operatorReads: readonly OperatorRead[] = [
  ...alertReads,
  ...auditReads,
  ...battlePassReads,
  ...seasonReads,
  ...boostReads,
  ...calendarReads,
  ...figureReads,
  ...grantReads,
  ...listingReads,
  ...loginReads,
  ...problemReads,
  ...projectReads,
  ...providerReads,
  ...scenarioReads,
  ...sharedViewReads,
  ...singleSignOnReads,
]
