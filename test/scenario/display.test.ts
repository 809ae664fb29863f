import { describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { gold, item, passNode, scenario, tier } from '../harness/definitions.ts'

// Texts, pictures and choices of definitions.

type Members = { readonly [name: string]: Json }
const en = { en: { name: 'Frost' } }
const pick = { choice: [[gold(1)], [item('hat')]] }

const withPass = (more: Members, tiers: readonly Json[] = []): Json =>
  scenario([passNode('p', { levels: [0], tiers, more })], [])
const withTier = (rewards: readonly Json[], more: Members = {}): Json =>
  withPass({}, [{ level: 1, track: 'free', rewards, ...more }])

function faultsOf(definition: Json): string[] {
  const parsed = parseDefinition(print(definition))
  return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`)
}

function stored(definition: Json): PassNode {
  const parsed = parseDefinition(print(definition), { isStored: true })
  const node = parsed.ok ? parsed.definition.nodes.get('p') : undefined
  if (node?.type !== 'battle-pass') throw new Error(`not a pass: ${JSON.stringify(parsed)}`)
  return node
}

const DATA = 'nodes[1].data'
const REWARDS = `${DATA}.tiers[0].rewards`

describe('texts, pictures and choices', () => {
  it.each<[string, Json, string[]]>([
    ['no language', withPass({ text: {} }), [`${DATA}.text: needs at least one language`]],
    [
      'a tag that is none',
      withPass({ text: { en_US: { name: 'x' } } }),
      [`${DATA}.text.en_US: must be named by the tag of a language, such as pt-BR`],
    ],
    [
      'one language twice',
      withPass({ text: { 'pt-BR': { name: 'x' }, 'pt-br': { name: 'y' } } }),
      [`${DATA}.text.pt-br: repeats a language in another letter case`],
    ],
    ['a text without a name', withPass({ text: { en: { description: 'x' } } }), [`${DATA}.text.en.name: is required`]],
    [
      'a long description',
      withTier([], { text: { en: { name: 'x', description: 'x'.repeat(1_001) } } }),
      [`${DATA}.tiers[0].text.en.description: must be 1 to 1000 characters`],
    ],
    [
      'an image with a line break',
      withTier([{ ...(gold(1) as object), image: 'a\nb' }]),
      [`${REWARDS}[0].image: must not contain control characters`],
    ],
    [
      'a long image',
      { ...(withPass({}) as object), image: 'x'.repeat(2_049) },
      ['image: must be 1 to 2048 characters'],
    ],
    ['one option', withTier([{ choice: [[gold(1)]] }]), [`${REWARDS}[0].choice: must have 2 to 10 entries`]],
    [
      'an empty option',
      withTier([{ choice: [[gold(1)], []] }]),
      [`${REWARDS}[0].choice[1]: must have 1 to 32 entries`],
    ],
    [
      'a choice in a choice',
      withTier([{ choice: [[gold(1)], [pick]] }]),
      [`${REWARDS}[0].choice[1][0]: must not be a choice: only the rewards of tiers have one`],
    ],
    ['two choices', withTier([pick, pick]), [`${REWARDS}[1]: is a second choice: a tier has at most one`]],
    [
      'a choice with an amount',
      withTier([{ ...pick, amount: 1 }]),
      [`${REWARDS}[0].amount: must not stand beside a choice`],
    ],
    [
      'a reward with a choice',
      withTier([{ ...(gold(1) as object), ...pick }]),
      [`${REWARDS}[0]: must not have choice besides a reward`],
    ],
    [
      'a choice of premium',
      withPass({ premium: { price: { currency: 'gems', amount: 1 }, instant: [pick] } }),
      [`${DATA}.premium.instant[0]: must not be a choice: only the rewards of tiers have one`],
    ],
    [
      'a choice of a reward node',
      scenario([{ id: 'r', type: 'reward', data: { rewards: [pick] } }], []),
      [`${DATA}.rewards[0]: must not be a choice: only the rewards of tiers have one`],
    ],
  ])('are refused with %s', (_what, definition, faults) => {
    expect(faultsOf(definition)).toEqual(faults)
  })

  it('do not count in stored definitions where they have another form, which the game had there', () => {
    const odd = withTier([{ ...(gold(1) as object), choice: 'red', image: 7 }], { text: 'Frost', image: 'tier' })
    const { tiers, display } = stored({ ...(odd as object), text: 5 })
    expect([tiers.get('free:1'), display]).toEqual([
      {
        ...{ level: 1, track: 'free', display: { text: new Map(), image: 'tier' } },
        rewards: [{ currency: 'gold', itemId: null, amount: 1n }],
      },
      undefined,
    ])
  })

  it('have one notice for each language that some texts have and others lack', () => {
    const definition = withPass({ text: { en: { name: 'x' }, de: { name: 'y' } } }, [
      { ...(tier(1, 'free', [{ ...(gold(1) as object), text: en }]) as object), text: en },
    ])
    const parsed = parseDefinition(print({ ...(definition as object), text: { EN: { name: 'x' } } }))
    const notices = parsed.ok ? parsed.notices.filter(({ path }) => path.endsWith('text')) : []
    expect(notices).toEqual([{ path: 'text', message: 'has no de, as 3 of 4 texts: players read another one' }])
  })

  it('of a tier stay those of the pass where a level node lists its rewards', () => {
    const level = { levelNumber: 1, passNodeId: 'p', rewards: { free: [pick] } }
    const pass = passNode('p', { levels: [0], tiers: [{ ...(tier(1, 'free') as object), image: 'tier' }] })
    const { tiers } = stored(scenario([pass, { id: 'l', type: 'battle-pass-level', data: level }], []))
    expect(tiers.get('free:1')).toMatchObject({ display: { image: 'tier' }, rewards: [], choice: [[{}], [{}]] })
  })
})
