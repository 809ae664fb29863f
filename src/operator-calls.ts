// Contents page of the operators' calls and queries: each feature's declarations.
import { alertCalls } from './alerts/calls.ts'
import { alertReads } from './alerts/reads.ts'
import { auditReads } from './audit/reads.ts'
import { battlePassReads } from './battlepass/reads.ts'
import { boostCalls } from './boosts/calls.ts'
import { boostReads } from './boosts/reads.ts'
import { calendarReads } from './calendar/reads.ts'
import { catalogueCalls } from './catalogue/calls.ts'
import type { OperatorCall } from './declare/operator-call.ts'
import type { OperatorRead } from './declare/operator-read.ts'
import { figureReads } from './figures/reads.ts'
import { grantCalls } from './grants/calls.ts'
import { grantReads } from './grants/reads.ts'
import { segmentCalls } from './listing/calls.ts'
import { listingReads } from './listing/reads.ts'
import { loginCalls } from './login/calls.ts'
import { loginReads } from './login/log/reads.ts'
import { problemReads } from './problems/reads.ts'
import { projectCalls } from './projects/calls.ts'
import { keyCalls } from './projects/calls-keys.ts'
import { projectReads } from './projects/reads.ts'
import { providerCalls } from './providers/calls.ts'
import { providerReads } from './providers/reads.ts'
import { roleCalls } from './roles/calls.ts'
import { scenarioCalls } from './scenario/calls.ts'
import { draftCalls } from './scenario/calls-drafts.ts'
import { scenarioReads } from './scenario/reads.ts'
import { sharedViewCalls } from './shared-views/calls.ts'
import { sharedViewReads } from './shared-views/reads.ts'
import { singleSignOnCalls } from './single-sign-on/calls.ts'
import { singleSignOnReads } from './single-sign-on/reads.ts'
import { supportCalls } from './support/calls.ts'

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
