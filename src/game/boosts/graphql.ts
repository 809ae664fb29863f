import { gameTimeAt } from '../../base/game-clock.ts'
import { databaseNow } from '../../db/ids.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType } from '../../declare/graphql/node.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { CLOCK_FIELDS, type ClockColumns, clockOf } from '../clock/game-clock.ts'
import { stateOf } from './manage-boosts.ts'
import { BOOST_STATES } from './requests.ts'
import { AUDIENCES, type Audience } from './stored.ts'

/** The game's time of an environment. */
const nowIn = (environment: ClockColumns): Date => new Date(gameTimeAt(clockOf(environment), databaseNow()))

const StateType = enumType('BoostState', BOOST_STATES, {
  description: 'Where a boost stands, by the clock of its environment.',
  values: {
    planned: 'It starts later.',
    running: 'It gives xp.',
    ended: 'Its time is over, or an operator has ended or cancelled it.',
  },
})

const AudienceType = enumType('BoostAudience', AUDIENCES, {
  description: 'Who gets a boost.',
  values: {
    everybody: 'Every player.',
    premium: 'Owners of premium, on the passes that they own.',
  },
})

builder.prismaObject('Boost', {
  description: 'More xp for a time, in an environment.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Boost', id) }),
    boostId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (boost) => boost.environment.name,
    }),
    name: t.exposeString('name', { description: 'The name, for operators.' }),
    state: t.field({
      type: StateType,
      description: 'Where it stands now.',
      select: { startsAt: true, endsAt: true, endedAt: true, environment: { select: CLOCK_FIELDS } },
      resolve: ({ environment, ...boost }) => stateOf(boost, nowIn(environment)),
    }),
    percent: t.exposeInt('percent', { description: 'The percentage that is added to each xp.' }),
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'When it starts.' }),
    endsAt: t.expose('endsAt', { type: 'DateTime', description: 'When it ends: the first time without it.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When an operator ended or cancelled it. Null otherwise.',
    }),
    scenarios: t.exposeStringList('scenarios', { description: 'The scenarios that it is for, by id. Empty for all.' }),
    sources: t.exposeStringList('sources', { description: 'The sources of xp that it is for. Empty for all.' }),
    audience: t.field({
      type: AudienceType,
      description: 'Who gets it.',
      resolve: ({ audience }) => audience as Audience,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})
