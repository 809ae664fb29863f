import type { Extension, Group } from '../../transactions/group.ts'
import type { Player } from '../../transactions/player.ts'
import type { Statement } from '../../transactions/statement.ts'
import type { XpOrigin } from './xp-limits.ts'

/** A call with more xp than the rules of its pass allow, and what became of it. */
export interface LimitedCall {
  readonly player: Player
  readonly origin: XpOrigin
  readonly reason: 'clipped' | 'refused' | 'not_allowed'
}

/**
 * The limited calls of a group, for a metric. A decision may be made again, so a call counts once its group is committed
 * and its player proven.
 */
export class LimitedCalls implements Extension {
  static readonly stage = 'records'
  static readonly isProvable = true
  private readonly group: Group
  private readonly calls: LimitedCall[] = []

  constructor(group: Group) {
    this.group = group
  }

  add(call: LimitedCall): void {
    this.calls.push(call)
  }

  /** Nothing is written. */
  save(): Statement[] {
    return []
  }

  get proven(): readonly LimitedCall[] {
    return this.calls.filter(({ player }) => !this.group.unproven.has(player))
  }
}

/** Counts the limited calls of each group. Call it after COMMIT. */
export function countLimited(count: (call: LimitedCall) => void): (group: Group) => void {
  return (group) => {
    if (group.has(LimitedCalls)) group.of(LimitedCalls).proven.forEach(count)
  }
}
