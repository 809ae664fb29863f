import { operatorList } from '../../declare/operator-read.ts'
import { alertWebhooksRequest } from './requests.ts'

export const alertReads = [
  operatorList({
    name: 'alertWebhooks',
    summary: 'The alert webhooks of an environment, by their names.',
    request: alertWebhooksRequest,
    right: 'read',
    rows: 'AlertWebhook',
    where: (_asking, { environmentId }) => ({ environmentId }),
  }),
]
