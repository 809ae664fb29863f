import type { ServiceType } from '../../../../src/game/definition/handles.ts'
import type { Value } from '../text/json-edit.ts'
import type { NodeModel } from './definition.ts'
import { REWARDS_HINT } from './rewards.ts'

// What the designer knows of each type of node that the service runs: its colour, its first data, and the form of its
// data. A new kind of field is shown by `graph/fields.tsx`.

interface Labels {
  readonly label: string
  readonly hint?: string
}

/** A date and time. */
export interface MomentField extends Labels {
  readonly kind: 'moment'
}

/** A whole number. */
export interface NumberField extends Labels {
  readonly kind: 'number'
  readonly isRequired?: boolean
  /** Its decimal digits may stand as a string, and then stay one. */
  readonly mayBeText?: boolean
  /** Leads from the member to the number. */
  readonly within?: readonly string[]
}

/** Rewards in one line, such as `50 gold, 1 item:sword`. */
export interface RewardsField extends Labels {
  readonly kind: 'rewards'
  readonly isOptional?: boolean
  readonly within?: readonly string[]
}

/** One of some values. For the one with an empty name, the member is absent. */
export interface ChoiceField extends Labels {
  readonly kind: 'choice'
  readonly options: readonly (readonly [value: string, words: string])[]
  /** With any other value than this one, another member goes. */
  readonly only?: { readonly value: string; readonly member: string }
}

/** A member that has this value, or is absent. */
export interface CheckField extends Labels {
  readonly kind: 'check'
  readonly value: string
}

/** A field that is written for its member. */
export interface OwnField {
  readonly kind: 'own'
  readonly of: 'counts' | 'premium' | 'mail' | 'beyond' | 'next' | 'display' | 'xp' | 'pass' | 'tracks'
}

export type Field = MomentField | NumberField | RewardsField | ChoiceField | CheckField | OwnField

/** The fields of a node's data by its members, in their order. Null for a member that another field shows. */
export type Form = Readonly<Record<string, Field | null>>

const moment = (field: Omit<MomentField, 'kind'>): Field => ({ kind: 'moment', ...field })
const number = (field: Omit<NumberField, 'kind'>): Field => ({ kind: 'number', ...field })
const rewards = (field: Omit<RewardsField, 'kind'>): Field => ({ kind: 'rewards', ...field })
const choice = (field: Omit<ChoiceField, 'kind'>): Field => ({ kind: 'choice', ...field })
const own = (of: OwnField['of']): Field => ({ kind: 'own', of })

interface NodeKind {
  /** Its colour in the graph. */
  readonly colour: string
  /** The data of a new node, beside the nodes that are there. */
  readonly first: (nodes: readonly NodeModel[]) => Value | undefined
  /** Null for data that only the game client reads. */
  readonly form: Form | null
}

/** The types of nodes that the service runs. */
export const NODE_KINDS: Readonly<Record<ServiceType, NodeKind>> = {
  start: { colour: 'var(--good)', first: () => undefined, form: null },
  'battle-pass': {
    colour: 'var(--chart-1)',
    first: () => ({ levels: [{ level: 1n, xp: 0n }], tiers: [] }),
    form: {
      levels: own('counts'),
      tiers: null,
      premium: own('premium'),
      announcedAt: moment({
        label: 'Announced',
        hint: 'The season is announced from then on, before it starts. Empty: it is not.',
      }),
      startsAt: moment({
        label: 'Starts',
        hint: 'Xp, claims and premium are open from then on. Empty: always open.',
      }),
      endsAt: moment({ label: 'Ends', hint: 'The first moment without xp and premium. Empty: never.' }),
      claimUntil: moment({ label: 'Claims until', hint: 'The first moment without claims. Empty: the end.' }),
      endingHours: number({ label: 'Hours in which it is about to end', hint: 'Before the end. Empty: none.' }),
      autoClaim: { kind: 'check', label: 'Claim tiers as players reach them', value: 'always' },
      atEnd: choice({
        label: 'Earned tiers that were not claimed',
        hint: 'Once claims have closed.',
        options: [
          ['', 'lost'],
          ['grant', 'granted'],
          ['mail', 'mailed to the inbox'],
        ],
        only: { value: 'mail', member: 'mail' },
      }),
      mail: own('mail'),
      beyond: own('beyond'),
      next: own('next'),
      text: own('display'),
      image: null,
      xp: own('xp'),
    },
  },
  'battle-pass-level': {
    colour: 'var(--chart-3)',
    first: (nodes) => ({
      levelNumber: 1n,
      passNodeId: nodes.find((node) => node.type === 'battle-pass')?.id ?? '',
    }),
    form: {
      levelNumber: number({ label: 'Level', isRequired: true, mayBeText: true }),
      passNodeId: own('pass'),
      rewards: own('tracks'),
    },
  },
  reward: {
    colour: 'var(--chart-2)',
    first: () => ({ rewards: [{ currency: 'gold', amount: 100n }] }),
    form: {
      rewards: rewards({ label: 'Rewards', hint: `${REWARDS_HINT}.` }),
      repeat: choice({
        label: 'Pays a player',
        hint: 'The check below shows which rule applies.',
        options: [
          ['', 'depending on how it is reached'],
          ['never', 'once per player'],
          ['run', 'once in each run'],
          ['always', 'each time'],
        ],
      }),
    },
  },
}
