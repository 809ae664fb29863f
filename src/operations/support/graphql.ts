import { addAuditEntry } from '../../audit/graphql.ts'
import { answerType, enumType } from '../../declare/graphql/shapes.ts'
import { ERRORS } from './action-call.ts'
import { EACH_ERRORS, eachResult } from './action-on-each.ts'
import { SUPPORT_ERRORS } from './support-action.ts'

enumType('SupportError', SUPPORT_ERRORS, {
  description: 'The reason why an action of support was refused.',
  values: ERRORS,
})

enumType('SupportListError', EACH_ERRORS, {
  description: 'The reason why an action did nothing for a player of a list.',
  values: { 'player not found': 'The project has no such player.', 'player deleted': 'The player is deleted.' },
})

addAuditEntry(
  answerType('SupportListResult', eachResult) as never,
  'Null where nothing changed. A repeated key returns the first entry.',
)
