import type { Json } from '../../src/base/json.ts'

export interface PassOptions {
  /** Total xp of each level from 1 on. */
  readonly levels?: readonly (number | bigint)[]
  readonly price?: Json
  readonly tiers?: readonly Json[]
  readonly more?: { readonly [key: string]: Json }
}

export const gold = (amount: number | bigint): Json => ({ currency: 'gold', amount })
export const item = (itemId: string, amount: number | bigint = 1): Json => ({ itemId, amount })
export const tier = (
  level: number,
  track: 'free' | 'premium',
  rewards: readonly Json[] = [gold(level * 10)],
): Json => ({ level, track, rewards })

/** A pass of five levels, 100 xp apart, with a tier on either track at each. */
export function passNode(
  id = 'pass',
  { levels = [0, 100, 200, 300, 400], price = { currency: 'gems', amount: 950 }, tiers, more = {} }: PassOptions = {},
): Json {
  return {
    id,
    type: 'battle-pass',
    data: {
      levels: levels.map((xp, index) => ({ level: index + 1, xp })),
      tiers:
        tiers ??
        levels.flatMap((_, index) => [
          tier(index + 1, 'free'),
          tier(index + 1, 'premium', [item(`skin-${index + 1}`)]),
        ]),
      ...(price !== null && { premium: { price } }),
      ...more,
    },
  }
}

/** Rules of xp that limit nobody, so that a publication has no notice about xp without a limit. */
export const LIMITED = { xp: { perSeason: Number.MAX_SAFE_INTEGER } }

export function season(options: PassOptions = {}): Json {
  return scenario([passNode('pass', options)], [{ from: 'start', handle: 'onStart', to: 'pass' }])
}

export function scenario(nodes: readonly Json[], edges: readonly Json[]): Json {
  return { name: 'Test season', start: 'start', nodes: [{ id: 'start', type: 'start' }, ...nodes], edges }
}
