import { ACTIONS } from '../../audit/actions.ts'
import { MAX_LIST_BYTES, MAX_LIST_ROWS } from '../../base/limits.ts'
import { answer, out } from '../../declare/answer.ts'
import { environment, reason } from '../../declare/common.ts'
import { operatorParameter, path, projectId, reasonParameter, requiredQuery } from '../../declare/contract.ts'
import type { PlatformHandler, PlatformRequest, PlatformStream } from '../../declare/route.ts'
import { optional, shape } from '../../declare/shape.ts'
import { findChangeable } from '../calls/role-limits.ts'
import { exportJob } from './export-job.ts'
import { createList, readCsv } from './player-lists.ts'

const CSV = 'text/csv'

const listAnswer = answer(
  'A list of players, for grant jobs. It is kept for seven days.',
  {
    listId: out.text('The id, for `to: {listId}` of a grant job.'),
    players: out.int32('Its players.'),
    total: out.orNull(out.int64('The sum of the amounts. Null without amounts.')),
    first: out.list(
      answer('A row of the list, with the player that it names.', {
        row: out.int32('The number of its line, from 1.'),
        playerId: out.id('The player.'),
        provider: out.orNull(out.text('The provider of the row. Null with an id.')),
        subject: out.orNull(out.text('The subject of the row. Null with an id.')),
        amount: out.orNull(out.int64('The amount of the row. Null without amounts.')),
      }),
      'The first ten rows, to be looked at before anything is given.',
    ),
  },
  {
    name: 'PlayerList',
    example: {
      listId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21',
      players: 2,
      total: 150,
      first: [
        {
          row: 2,
          playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e11',
          provider: 'custom',
          subject: 'player-1',
          amount: 100,
        },
        {
          row: 3,
          playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e12',
          provider: 'custom',
          subject: 'player-2',
          amount: 50,
        },
      ],
    },
  },
)

const querySchema = shape({ environment, reason: optional(reason) })

/** POST /platform/v1/projects/{projectId}/player-lists?environment=&reason= */
export const postPlayerList: PlatformHandler = {
  contract: {
    id: 'createPlayerList',
    tag: 'Platform',
    summary: `Upload a list of players as CSV, for a grant job: up to ${MAX_LIST_ROWS} players and ${MAX_LIST_BYTES} bytes. The first row names the columns: \`playerId\`, or \`provider\` and \`subject\`; and \`amount\`, if players get different amounts. Commas, semicolons or tabs separate them. With any fault nothing is stored, and the first faulty rows are reported.`,
    body: {
      schema: { type: 'string', description: 'A CSV with a header row, in UTF-8.' },
      example: 'provider,subject,amount\ncustom,player-1,100\ncustom,player-2,50\n',
    },
    bodyType: CSV,
    answer: listAnswer,
    parameters: [
      projectId,
      requiredQuery('environment', 'The environment, such as `production`.'),
      reasonParameter,
      operatorParameter,
    ],
  },
  audited: { action: ACTIONS.createPlayerList, target: () => 'players' },
  async run({ caller, query, text, service }) {
    const asked = querySchema.readInput(Object.fromEntries(query))
    const environmentId = await findChangeable(service.pool, caller, asked.environment)
    const { players, first } = await readCsv(service.operatorPool, environmentId, await text(MAX_LIST_BYTES))
    const { reason } = asked
    return {
      ...(await createList(service.operatorPool, caller, environmentId, { players, reason })),
      first: first.map((row) => ({ ...row })),
    }
  },
}

/** GET /platform/v1/projects/{projectId}/grant-jobs/{jobId}/players.csv?reason= */
export const getJobPlayers: PlatformStream = {
  contract: {
    id: 'exportGrantJob',
    tag: 'Platform',
    summary:
      'Export the players of a grant job with their outcomes, by their ids: the columns playerId, outcome (`granted`, `failed`, or empty while the player waits), cause, amount, granted (JSON), messageId, actedAt. When an export fails midway, the connection is closed before the last chunk.',
    answer: { schema: { type: 'string' } },
    mediaType: CSV,
    parameters: [projectId, path('jobId', 'The job.'), reasonParameter],
    refusals: ['notFound'],
  },
  audited: { action: ACTIONS.exportGrantJob, target: ({ jobId = '' }) => jobId },
  run: exportPlayers,
}

const exportQuery = shape({ reason: optional(reason) })

async function exportPlayers({ caller, params: { jobId = '' }, query, service }: PlatformRequest) {
  const { reason } = exportQuery.readInput(Object.fromEntries(query))
  return { type: `${CSV}; charset=utf-8`, pages: await exportJob(service.operatorPool, caller, { jobId, reason }) }
}
