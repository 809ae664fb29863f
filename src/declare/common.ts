import {
  isSlug,
  MAX_ID,
  MAX_IDEMPOTENCY_KEY,
  MAX_IDENTITY_PROVIDER,
  MAX_LABEL,
  MAX_OPERATOR,
  MAX_REASON,
  MAX_SLUG,
  nameFault,
} from '../base/limits.ts'
import { type Check, type Field, flag, mapped, moment, optional, orGlobal, text, uuid } from './shape.ts'

// Fields of several requests.

/** What `asOf` of an answer promises. */
export const AS_OF =
  'All that was committed by this time is in the answer. Earlier than now where a read replica serves it.'

/** The names of providers in identities. */
export const IDENTITY_PROVIDER =
  '`custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`.'

/** The provider of an identity. It is `default` in the settings and in the login log, and `custom` in identities. */
export const providerOfIdentity = (description: string): Field<string> =>
  mapped(
    text(`${description}${IDENTITY_PROVIDER} \`default\` is taken for \`custom\`.`, { max: MAX_IDENTITY_PROVIDER }),
    (name) => (name === 'default' ? 'custom' : name),
  )

export const scenarioId = text("A scenario's id in its environment.", { max: MAX_ID })
export const nodeId = text("A node's id in its scenario.", { max: MAX_ID })
/** Any text: one that is the id of no run is answered as a missing run. */
export const runId = orGlobal(text("A run's id.", { max: MAX_ID, type: 'ID' }), 'Run')
export const playerId = uuid("A player's id.", 'Player')

/** A battle pass: the node itself, or a level node of it. */
export const inScenario = { scenarioId, nodeId }
export const inRun = { scenarioId, nodeId, runId }

/** Examples of these in `openapi.json`. */
export const EXAMPLE_PASS = { scenarioId: 'season-1', nodeId: 'pass' }
export const EXAMPLE_RUN = { ...EXAMPLE_PASS, runId: '019aa4c5-7a53-7c1e-a8d2-0d9bd0b3e5f1' }

/** Any text: a text that matches no environment is answered as a missing environment. */
export const environment = text("An environment's name, such as `production`.", { max: MAX_SLUG })

/** Any text, as for environments. */
export const providerName = text("A provider's name, such as `default`.", { max: MAX_SLUG })

/** The rule of the names of environments and providers. */
export const newSlug = (description: string): Field<string> =>
  text(description, {
    max: MAX_SLUG,
    check: (name) => (isSlug(name) ? undefined : 'must begin with a-z or 0-9, and go on with a-z, 0-9, _ or -'),
  })

export const reason = text(`The reason: 1 to ${MAX_REASON} characters, kept in the audit log; players never see it.`, {
  max: MAX_REASON,
})

/** The acting person: a name or an e-mail address. */
export const allowLast = optional(
  flag('True also ends the last way in for admins. Then only the command line makes an admin key. Default: false.'),
  false,
)

export const operatorName = text(`The person who acts, by name or e-mail address: 1 to ${MAX_OPERATOR} characters.`, {
  max: MAX_OPERATOR,
  check: nameFault,
})

export const keyLabel = optional(
  text(`The purpose of the key: 1 to ${MAX_LABEL} characters, shown in lists and in the audit log.`, {
    max: MAX_LABEL,
    check: nameFault,
  }),
)

export const requiredKey = text('The same key and request takes effect once and gets the same answer for seven days.', {
  max: MAX_IDEMPOTENCY_KEY,
  // A header can hold no other texts.
  check: nameFault,
})
export const idempotencyKey = optional(requiredKey)

export const span = {
  from: optional(moment('The start of the range, included.')),
  to: optional(moment('The end of the range, not included.')),
}
export const checkSpan: Check<{ readonly from: Date | null; readonly to: Date | null }> = ({ from, to }) =>
  from && to && from >= to ? [{ path: 'to', message: 'must be after from' }] : []

/** A request whose idempotency key is optional in code, too. */
export type Unkeyed<Request extends { readonly idempotencyKey: string | null }> = Omit<Request, 'idempotencyKey'> &
  Partial<Pick<Request, 'idempotencyKey'>>
