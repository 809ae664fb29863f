import { uuidv7 } from 'uuidv7'
import { columns, type Group, PART_ORDER, type Part, type Statement } from '../commit/group.ts'
import { Tally } from '../insight/tally.ts'
import type { PassRef } from './passes.ts'

/** Stands where a run would, in the row of what happened outside of any. */
export const NO_RUN = '00000000-0000-0000-0000-000000000000'

interface XpGrant extends PassRef {
  readonly runId: string
  readonly amount: bigint
  readonly source: string
}

/** The xp grants of a group: one row each, never changed afterwards. */
export class XpLedger implements Part {
  static readonly order = PART_ORDER.passes
  private readonly group: Group
  private readonly grants: (XpGrant & { id: string })[] = []

  constructor(group: Group) {
    this.group = group
  }

  add(grant: XpGrant): void {
    const { environmentId, scenarioId, nodeId, amount, source } = grant
    this.group.of(Tally).add({ environmentId, scenarioId, nodeId, measure: 'xp', detail: source }, 1, amount)
    this.grants.push({ ...grant, id: uuidv7() })
  }

  load(): Statement[] {
    return []
  }

  save(): Statement[] {
    if (this.grants.length === 0) return []
    return [
      {
        name: 'xp-ledger-save',
        text: `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::bigint[], $8::text[])`,
        values: columns(this.grants, [
          'environmentId',
          'playerId',
          'id',
          'scenarioId',
          'nodeId',
          'runId',
          'amount',
          'source',
        ]),
      },
    ]
  }
}
