import { MAX_BAN_REASON } from '../../../../src/base/limits.ts'
import { HOUR_MS } from '../../ui/lengths.ts'
import type { ActionField, Values } from './support-action.ts'

// The fields of a ban, of one player or of a list.

/** How long a ban lasts. The last one has no end. */
const LENGTHS = [
  ['1', '1 hour'],
  ['24', '1 day'],
  ['72', '3 days'],
  ['168', '7 days'],
  ['720', '30 days'],
  ['8760', '365 days'],
  ['', 'Until it is lifted'],
] as const

export const BAN_FIELDS: readonly ActionField[] = [
  {
    name: 'kind',
    label: 'Refuses',
    kind: 'choice',
    options: [
      ['EVERYTHING', 'Every call'],
      ['LOGIN', 'Logins alone'],
    ],
  },
  { name: 'hours', label: 'Lasts', kind: 'choice', options: LENGTHS, isOptional: true },
  {
    name: 'publicReason',
    label: 'Shown to the player',
    kind: 'text',
    hint: `Why it is banned, in up to ${MAX_BAN_REASON} characters.`,
    isOptional: true,
  },
]

export const BAN_INITIAL: Values = { kind: 'EVERYTHING', hours: '', publicReason: '' }

/** The ban of the fields. It begins at `now`, when the dialog was opened: a second press sends the same. */
export const banInput = ({ kind, hours, publicReason = '' }: Values, now: number) => ({
  kind,
  ...(hours && { until: new Date(now + Number(hours) * HOUR_MS).toISOString() }),
  ...(publicReason.trim() !== '' && { publicReason: publicReason.trim() }),
})

/** What a ban does, to somebody by this name. */
export function banEffect(name: string, { kind, hours }: Values): string {
  const length = LENGTHS.find(([value]) => value === hours)?.[1].toLowerCase()
  const end = hours ? `The ban ends by itself after ${length}.` : 'The ban has no end: it can be lifted.'
  const refused =
    kind === 'LOGIN'
      ? `${name} cannot log in, and plays on until the present access token expires, a day later at most.`
      : `Every call of ${name} is refused from the next one on, and all open connections close.`
  return `${refused} ${end} Nothing is lost.`
}
