import { enumType } from '../declare/graphql/shapes.ts'
import { AUDIENCES } from '../scenario/boosts.ts'

export const AudienceType = enumType('BoostAudience', AUDIENCES, {
  description: 'Who gets a boost.',
  values: {
    everybody: 'Every player.',
    premium: 'Owners of premium, on the passes that they own.',
  },
})
