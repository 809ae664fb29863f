import { type Fault, Refusal } from '../base/errors.ts'
import { refuseFaults } from './shape.ts'

const path = 'If-Match'

/**
 * The version in an `If-Match`, whose form is a pattern of the whole version; `*` for any. Tags are compared strongly
 * (RFC 9110, 13.1.1), so a weak one is refused with 412 like any other that is not current. The refusal says what to
 * send: a proxy that compresses may have made the tag weak.
 */
export function readIfMatch(sent: string, form: RegExp, faults: Fault[]): string | undefined {
  const tag = sent.trim()
  if (tag === '*') return tag
  const [, weak, version] = /^(W\/)?"([^"]*)"$/.exec(tag) ?? []
  if (version === undefined || !form.test(version)) {
    faults.push({ path, message: 'must be the ETag of what was read, in quotation marks, or *' })
    return undefined
  }
  if (weak === undefined) return version
  refuseFaults(faults)
  throw new Refusal('versionConflict', {
    faults: [{ path, message: `a weak tag never matches: send "${version}", without W/` }],
  })
}
