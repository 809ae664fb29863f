import { kindOf, members, syntaxFault, trimJson } from '../../base/json.ts'
import { MAX_DENIAL_CODE, MAX_DENIAL_TEXT } from '../../base/limits.ts'
import { optional, shape, text } from '../../declare/shape.ts'
import { JsonSource } from '../../declare/source.ts'

/** Why a studio denies a player, for the player's client. */
export interface DenialReason {
  readonly code: string
  readonly text: string | null
}

const CODE = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/

/** The member `reason` of a denial. */
export const denialReason = shape({
  code: text('A word for the game client to match on, such as `maintenance`.', {
    max: MAX_DENIAL_CODE,
    check: (value) => (CODE.test(value) ? undefined : 'must have letters, digits, _, . or -'),
  }),
  text: optional(text('A text for the player.', { max: MAX_DENIAL_TEXT })),
})

/**
 * The reason in the body of a 4xx: `{"reason": {"code": "maintenance", "text": "Back at noon."}}`. Null without a valid
 * one: a denial counts whatever its body is.
 */
export function readDenial(bytes: Uint8Array): DenialReason | null {
  const body = trimJson(new TextDecoder().decode(bytes))
  if (body === '' || kindOf(body) !== 'object' || syntaxFault(body) !== undefined) return null
  const reason = members(body).get('reason')
  if (reason === undefined || kindOf(reason) !== 'object') return null
  const faults: never[] = []
  const read = denialReason.gather(new JsonSource(reason), faults)
  return faults.length === 0 ? read : null
}
