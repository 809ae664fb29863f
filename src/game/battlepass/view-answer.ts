import { type AnswerOf, answer, memberOf, out } from '../../declare/answer.ts'
import { nodeId, scenarioId } from '../../declare/common.ts'
import { CLAIM_TRACKS, rewardOrBoost, TRACKS } from '../definition/definition.ts'
import { claimedTier } from './read-progress.ts'
import { seasonAnswer, seasonBoost } from './read-season.ts'

// The answer of `view`: what a game draws of a scenario, and where the player stands in it.

const shown = {
  name: out.orNull(out.text('What it is called, in the language of the player. Null without a text.')),
  description: out.orNull(out.text('A description in that language. Null without one.')),
  image: out.orNull(out.text("Its picture: a URL, or a key of the game's own assets. Null without one.")),
}

export const rewardView = answer(
  'A reward as the game shows it: exactly one of `currency`, `itemId` and `boost` is set.',
  { ...rewardOrBoost.members, ...shown },
  { name: 'RewardView' },
)

export const optionView = answer(
  'An option of the choice of a tier.',
  { rewards: out.list(rewardView, 'What the player gets with it.', { size: 2 }) },
  { name: 'OptionView' },
)

const offered = {
  rewards: out.list(rewardView, 'What a claim grants in any case.', { size: 2 }),
  choice: out.list(optionView, 'The options of which the player picks one, by its index. Empty without a choice.', {
    size: 1,
  }),
}

export const levelView = answer(
  'A level of a pass.',
  { level: out.int32('Its number.'), xp: out.int64('The total of xp that reaches it.'), ...shown },
  { name: 'LevelView' },
)

export const tierView = answer(
  'A tier of a pass.',
  {
    level: out.int32('The level that opens it.'),
    track: out.oneOf(TRACKS, { among: CLAIM_TRACKS }),
    ...shown,
    ...offered,
  },
  { name: 'TierView' },
)

export const premiumView = answer(
  'The premium of a pass.',
  {
    currency: out.text('The currency of the price.'),
    amount: out.int64('The price.', { minimum: 0 }),
    xpPercent: out.orNull(out.int64('The percentage that is added to each xp of owners. Null for none.')),
    instant: out.list(rewardView, 'What the purchase grants at once.', { size: 2 }),
  },
  { name: 'PremiumView' },
)

export const conversionView = answer(
  'One of a currency for each `per` xp above the top level.',
  { currency: out.text('The currency.'), per: out.int64('The xp that becomes one of the currency.') },
  { name: 'ConversionView' },
)

export const bonusView = answer(
  'A tier that repeats above the top level. Its tiers are claimed on the track `bonus`, by numbers from 1.',
  {
    every: out.int64('The xp above the top level that earns one bonus tier.'),
    max: out.int32('The number of bonus tiers.'),
    perDay: out.orNull(out.int32('How many are claimed on a day of the game. Null for no limit.')),
    ...offered,
  },
  { name: 'BonusView' },
)

const { phase, nextPhase, nextPhaseAt, secondsToNextPhase } = seasonAnswer.members

export const passState = answer(
  'Where the season and the player stand on a pass.',
  {
    phase,
    nextPhase,
    nextPhaseAt,
    secondsToNextPhase,
    level: out.int32('The current level; 0 below the first.'),
    xp: out.int64('The current xp.'),
    nextLevelXp: out.orNull(out.int64('The total of xp that reaches the next level. Null at the top level.')),
    premiumOwned: out.flag('Whether the player owns the premium track.'),
    claimed: out.list(claimedTier, 'Claimed tiers, by level, then by track: free, premium, bonus.', { size: 100 }),
    claimable: out.list(
      claimedTier,
      'Tiers that the player can claim now, in the same order. Of bonus tiers at most as many as are left of the day.',
      { size: 10 },
    ),
    boosts: out.list(
      seasonBoost,
      "The boosts of the scenario and the player's own that run now, the first to end first.",
      { size: 2 },
    ),
  },
  { name: 'PassState' },
)

const { announcedAt, startsAt, endingAt, endsAt, claimUntil } = seasonAnswer.members

/** What is the same for all players, in one language. */
export const passView = answer(
  'A battle pass of a scenario, as the game shows it.',
  {
    nodeId: out.text(nodeId.description),
    ...shown,
    announcedAt,
    startsAt,
    endingAt,
    endsAt,
    claimUntil,
    premium: out.orNull(premiumView, 'Null for a pass without a premium track.'),
    levels: out.list(levelView, 'By level.', { size: 100 }),
    tiers: out.list(tierView, 'By level, then by track: free, premium.', { size: 200 }),
    bonus: out.orNull(bonusView, 'Null without bonus tiers.'),
    conversion: out.orNull(conversionView, 'Null where xp above the top level becomes no currency.'),
    state: { ...memberOf(passState), description: passState.description },
  },
  { name: 'PassView' },
)

export const viewAnswer = answer(
  'What a game draws of a scenario: its passes with texts and pictures, and the state of the player.',
  {
    scenarioId: out.text(scenarioId.description),
    version: out.int32('The version of the definition.'),
    name: out.text('The name of the scenario in the language of the player, otherwise the one of the definition.'),
    description: shown.description,
    image: shown.image,
    language: out.orNull(
      out.text('The language that was chosen. A text without it is in its nearest one. Null without texts.'),
    ),
    passes: out.list(passView, 'The battle passes, in the order of the definition.', { size: 1 }),
  },
  {
    name: 'ScenarioView',
    example: {
      scenarioId: 'season-1',
      version: 3,
      name: 'Frost',
      description: null,
      image: null,
      language: 'en',
      passes: [
        {
          nodeId: 'pass',
          name: 'Season of frost',
          description: null,
          image: 'ui/frost',
          announcedAt: null,
          startsAt: '2026-12-01T00:00:00.000Z',
          endingAt: null,
          endsAt: '2027-02-01T00:00:00.000Z',
          claimUntil: '2027-02-08T00:00:00.000Z',
          premium: { currency: 'gems', amount: 950, xpPercent: 20, instant: [] },
          levels: [{ level: 1, xp: 0, name: null, description: null, image: null }],
          tiers: [
            {
              level: 1,
              track: 'free',
              name: 'Welcome',
              description: null,
              image: null,
              choice: [],
              rewards: [
                { amount: 100, currency: 'gold', itemId: null, name: 'Gold', description: null, image: 'ui/gold' },
              ],
            },
          ],
          bonus: null,
          conversion: null,
          state: {
            phase: 'running',
            nextPhase: 'ended',
            nextPhaseAt: '2027-02-01T00:00:00.000Z',
            secondsToNextPhase: 1_209_600,
            level: 1,
            xp: 40,
            nextLevelXp: null,
            premiumOwned: false,
            claimed: [],
            claimable: [{ level: 1, track: 'free' }],
            boosts: [],
          },
        },
      ],
    },
  },
)
export type ScenarioView = AnswerOf<typeof viewAnswer>
export type PassView = ScenarioView['passes'][number]
