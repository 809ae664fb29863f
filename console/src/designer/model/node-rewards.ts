import { applyChanges } from '../text/json-edit.ts'
import { findNode, type Path } from '../text/json-path.ts'
import type { Reward } from './definition.ts'
import { type Edit, setValue } from './edits.ts'
import { changeRewards, rewardValue } from './rewards.ts'

/** Sets a list of rewards; undefined removes it. Rewards that stay keep their other members. */
export const setRewards =
  (path: Path, rewards: readonly Reward[] | undefined): Edit =>
  (definition) => {
    const list = findNode(definition.root, path)
    if (rewards && list?.kind === 'array')
      return applyChanges(definition.text, changeRewards(definition.text, list, rewards))
    return setValue(path, rewards?.map(rewardValue))(definition)
  }
