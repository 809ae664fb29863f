import { addAuditEntry } from '../../audit/graphql.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { ERRORS } from './action-call.ts'
import { EACH_ERRORS, type EachResult } from './action-on-each.ts'
import { SUPPORT_ERRORS } from './support-action.ts'

enumType('SupportError', SUPPORT_ERRORS, {
  description: 'The reason why an action of support was refused.',
  values: ERRORS,
})

const EachErrorType = enumType('SupportListError', EACH_ERRORS, {
  description: 'The reason why an action did nothing for a player of a list.',
  values: { 'player not found': 'The project has no such player.', 'player deleted': 'The player is deleted.' },
})

const EachResultType = builder.objectRef<EachResult>('SupportListResult').implement({
  description: 'The result of an action of support for one player of a list.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: 'As the request has it.' }),
    error: t.expose('error', {
      type: EachErrorType,
      nullable: true,
      description: 'Why nothing changed. Null on success.',
    }),
  }),
})
addAuditEntry(EachResultType, 'Null where nothing changed. A repeated key returns the first entry.')
