import { hash } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { type Json, print } from '../../base/json.ts'
import { bestTag, isLanguageTag } from '../../base/languages.ts'
import { MAX_LANGUAGES, MAX_TAG } from '../../base/limits.ts'
import { VERSION } from '../../base/version.ts'
import { scenarioId } from '../../declare/common.ts'
import type { Tagged } from '../../declare/player-call.ts'
import { optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { askLanguage } from '../../players/create-player.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { withOwn } from '../boosts/player-boosts.ts'
import {
  byLevel,
  type Definition,
  granted,
  type Offer,
  type PassNode,
  type Reward,
  readTierKey,
} from '../definition/definition.ts'
import type { Display, Displayed } from '../definition/display.ts'
import { Scenarios, type Seen } from '../runs/scenarios.ts'
import { claimsOpen } from './decide.ts'
import { earnedOf } from './open-tiers.ts'
import { askPass, type PassHandle } from './passes.ts'
import { datesOf, phaseAt, runningBoosts } from './read-season.ts'
import { type PassView, type ScenarioView, viewAnswer } from './view-answer.ts'

export const viewRequest = shape(
  {
    scenarioId,
    language: optional(
      text("The language of texts, such as `pt-BR`. Default: that of the player's profile.", {
        max: MAX_TAG,
        check: (tag) => (isLanguageTag(tag) ? undefined : 'must be the tag of a language, such as pt-BR'),
      }),
    ),
  },
  { name: 'ViewRequest', example: { scenarioId: 'season-1', language: 'pt-BR' } },
)

/** The view of a player. */
export interface ReadView extends Tagged {
  readonly view: ScenarioView
}

/**
 * Reads what a game draws of a scenario. The tag stays the same while nothing changes but the seconds that are left. No
 * run is needed.
 */
export function readView(ref: PlayerRef, input: RequestOf<typeof viewRequest>): Command<ReadView> {
  const { scenarioId } = input
  return {
    engine: 'reads',
    player: ref,
    *decide(group) {
      const { player, seen, now, passes, boosts, profile } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        const scenario = { environmentId: ref.environmentId, scenarioId }
        const seen = group.of(Scenarios).see(scenario)
        const now = group.of(Scenarios).now(scenario)
        const nodes = seen ? passesOf(seen.definition) : []
        const passes = nodes.map(({ id }) => askPass(player, seen?.definition, { scenarioId, nodeId: id })?.askClaims())
        const needsProfile = input.language === null && seen && tagsOf(seen.definition).length > 1
        const boosts = withOwn(seen?.boosts ?? [], player, seen?.clock ?? null)
        return { player, seen, now, passes, boosts, profile: needsProfile ? askLanguage(player) : null }
      })
      requireActive(player)
      if (!seen) throw new Refusal('scenarioNotFound')
      const { definition, version, revision } = seen
      const fixed = fixedOf(definition, input.language ?? profile?.value?.language ?? null)
      const states = passes.flatMap((pass) => (pass ? [stateOf(pass, { boosts, clock: seen.clock }, now)] : []))
      const head = { scenarioId, version, ...fixed.head }
      return {
        etag: tagOf(revision, fixed, states),
        view: { ...head, passes: fixed.passes.map(({ view }, at) => ({ ...view, state: states[at] as PassState })) },
        print: () => {
          const texts = fixed.passes.map(({ text }, at) => `${text.slice(0, -1)},"state":${print(states[at] as Json)}}`)
          return `${print(head).slice(0, -1)},"passes":[${texts.join(',')}]}`
        },
      }
    },
  }
}

type PassState = PassView['state']

function stateOf(pass: PassHandle, { boosts, clock }: Pick<Seen, 'boosts' | 'clock'>, now: Date): PassState {
  const { node, level } = pass
  const { xp, premiumOwned } = pass.current
  return {
    ...phaseAt(node, clock, now),
    level,
    xp,
    nextLevelXp: node.levels.find((one) => one.xp > xp)?.xp ?? null,
    premiumOwned,
    claimed: pass.claimed.map(readTierKey).sort(byLevel),
    claimable: claimsOpen(node, now) ? earnedOf(pass, 'player', now).map(({ level, track }) => ({ level, track })) : [],
    boosts: runningBoosts(boosts, clock, now),
  }
}

/** Another version of the service may print the same view in another way. The tag is weak, as seconds do not count. */
function tagOf(revision: string, { head: { language } }: Fixed, states: readonly PassState[]): string {
  const lasting = states.map(({ secondsToNextPhase: _, boosts, ...state }) => ({
    ...state,
    boosts: boosts.map(({ secondsLeft: _, ...boost }) => boost),
  }))
  return `W/"${hash('sha256', print([VERSION, revision, language, lasting]), 'base64url').slice(0, 27)}"`
}

type FixedPass = Omit<PassView, 'state'>

/** What is the same for all players who read one language. */
interface Fixed {
  readonly head: Omit<ScenarioView, 'scenarioId' | 'version' | 'passes'>
  readonly passes: readonly { readonly view: FixedPass; readonly text: string }[]
}

/** A definition that is in memory is one object, and ends with its revision. */
const known = new WeakMap<Definition, { readonly tags: readonly string[]; readonly views: Map<string | null, Fixed> }>()

function knownOf(definition: Definition) {
  const found = known.get(definition) ?? { tags: collectTags(definition), views: new Map<string | null, Fixed>() }
  known.set(definition, found)
  return found
}

const tagsOf = (definition: Definition): readonly string[] => knownOf(definition).tags

/** The language is chosen once for the whole view, so that there are at most as many as the definition has. */
function fixedOf(definition: Definition, wanted: string | null): Fixed {
  const { tags, views } = knownOf(definition)
  const language = bestTag(tags, wanted) ?? null
  const found = views.get(language) ?? derive(definition, language)
  // A definition may have any number of languages.
  if (views.size >= MAX_LANGUAGES) views.clear()
  views.set(language, found)
  return found
}

const passesOf = ({ nodes }: Definition): readonly PassNode[] =>
  [...nodes.values()].flatMap((node) => (node.type === 'battle-pass' ? [node] : []))

/** The languages of the texts that the view shows, the first one first. */
function collectTags(definition: Definition): string[] {
  const shown: Displayed[] = [definition]
  const add = ({ rewards, choice = [] }: Offer) => shown.push(...rewards, ...choice.flat())
  for (const node of passesOf(definition)) {
    shown.push(node, ...node.levels, ...node.tiers.values(), ...node.premiumInstant)
    for (const tier of node.tiers.values()) add(tier)
    if (node.beyond?.kind === 'tiers') add(node.beyond)
  }
  return [...new Set(shown.flatMap(({ display }) => [...(display?.text.keys() ?? [])]))]
}

function derive(definition: Definition, language: string | null): Fixed {
  const own = shownIn(definition.display, language)
  return {
    head: { ...own, name: own.name ?? definition.name, language },
    passes: passesOf(definition).map((node) => {
      const view = passIn(node, language)
      return { view, text: print(view) }
    }),
  }
}

function passIn(node: PassNode, language: string | null): FixedPass {
  const { beyond, premium, premiumXpPercent, premiumInstant } = node
  const rewardIn = (reward: Reward) => ({ ...granted(reward), ...shownIn(reward.display, language) })
  const offerIn = ({ rewards, choice = [] }: Offer) => ({
    rewards: rewards.map(rewardIn),
    choice: choice.map((option) => ({ rewards: option.map(rewardIn) })),
  })
  return {
    nodeId: node.id,
    ...shownIn(node.display, language),
    ...datesOf(node),
    premium: premium && { ...premium, xpPercent: premiumXpPercent, instant: premiumInstant.map(rewardIn) },
    levels: node.levels.map(({ level, xp, display }) => ({ level, xp, ...shownIn(display, language) })),
    tiers: [...node.tiers.values()].sort(byLevel).map((tier) => ({
      level: tier.level,
      track: tier.track,
      ...shownIn(tier.display, language),
      ...offerIn(tier),
    })),
    bonus:
      beyond?.kind === 'tiers'
        ? { every: beyond.every, max: beyond.max, perDay: beyond.perDay, ...offerIn(beyond) }
        : null,
    conversion: beyond?.kind === 'conversion' ? { currency: beyond.currency, per: beyond.per } : null,
  }
}

/** A text without the language is shown in the one that comes nearest to it. */
function shownIn(display: Display | undefined, language: string | null) {
  const { text, image } = display ?? NOTHING
  const tag = bestTag([...text.keys()], language)
  const { name, description } = (tag === undefined ? undefined : text.get(tag)) ?? UNNAMED
  return { name, description, image }
}

const NOTHING: Display = { text: new Map(), image: null }
const UNNAMED = { name: null, description: null }

export const viewCall = {
  request: viewRequest,
  command: readView,
  contract: {
    id: 'readScenarioView',
    tag: 'Scenarios',
    summary:
      'Read what a game draws of a scenario: passes with texts and pictures in the language of the player, and where the player stands. No run is needed.',
    answer: viewAnswer,
    refusals: ['scenarioNotFound'],
  },
} as const
