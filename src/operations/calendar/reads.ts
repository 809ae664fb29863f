import { out } from '../../declare/answer.ts'
import { environment } from '../../declare/common.ts'
import { operatorRead } from '../../declare/operator-read.ts'
import { moment, shape } from '../../declare/shape.ts'
import { readGameNow } from '../../game/clock/game-clock.ts'
import { type Calendar, readCalendar } from './read-calendar.ts'

const calendarRequest = shape({
  environment,
  from: moment('The beginning.'),
  to: moment('The end: the first time that is left out. It must be after `from`.'),
})

export const calendarReads = [
  operatorRead({
    name: 'calendar',
    summary:
      'The seasons, boosts, publications and grant jobs of an environment, past and to come, with their conflicts.',
    request: calendarRequest,
    check: ({ from, to }) => (to <= from ? [{ path: 'to', message: 'must be after from' }] : []),
    right: 'read',
    cost: 50,
    answer: out.ofType<Calendar>('Calendar'),
    async read({ service: { operatorPool } }, { environment, environmentId, from, to }) {
      const rows = await readCalendar(operatorPool, environmentId, { from, to })
      return { ...rows, environment, environmentId, now: await readGameNow(operatorPool, environmentId) }
    },
  }),
]
