import { isServiceType } from '../../../../src/game/definition/handles.ts'
import { SENDERS } from '../../scenario/xp-words.ts'
import { Button } from '../../ui/button.tsx'
import { sentence } from '../../ui/errors.ts'
import { SelectField } from '../../ui/form.tsx'
import type { Draft } from '../draft/draft.ts'
import { type Definition, handlesOf, type NodeModel } from '../model/definition.ts'
import { setCrossedBy, setValue } from '../model/edits.ts'
import { useProblemsUnder } from '../problems/use-problems.ts'
import { printPath } from '../text/json-path.ts'
import { stringOf, valueAt } from '../text/json-tree.ts'

interface HandlesProps {
  readonly draft: Draft
  readonly node: NodeModel
}

/** Who may cross the handles of a client node: its member `handles`. */
export function HandleFields({ draft, node, definition }: HandlesProps & { readonly definition: Definition }) {
  const rules = valueAt(node.value, 'handles')
  if (isServiceType(node.type)) return rules && <UnfitRules draft={draft} node={node} />
  const ruled = rules?.kind === 'object' ? rules.items.map(({ name }) => name) : []
  const named = ruled.filter((name) => valueAt(rules, name) !== undefined)
  return (
    <>
      <h3>Who crosses its handles</h3>
      <p className="muted">
        A modified client can cross a handle at any time. A reward behind one that only servers cross pays each time.
      </p>
      {rules !== undefined && rules.kind !== 'object' && (
        <p className="fault">The rules of handles must be an object.</p>
      )}
      {[...new Set([...handlesOf(definition, node), ...named])].map((handle) => (
        <HandleField key={handle} draft={draft} node={node} handle={handle} />
      ))}
    </>
  )
}

function HandleField({ draft, node, handle }: HandlesProps & { readonly handle: string }) {
  const faults = useFaultsUnder(node, handle)
  const from = stringOf(valueAt(valueAt(valueAt(node.value, 'handles'), handle), 'from')) ?? 'client'
  const isKnown = SENDERS.some(([sender]) => sender === from)
  return (
    <SelectField
      label={`${handle} may be crossed by`}
      value={from}
      faults={faults}
      onChange={(chosen) => draft.edit(setCrossedBy(node, handle, chosen === 'client' ? undefined : chosen))}
      options={isKnown ? SENDERS : [...SENDERS, [from, `${from} (unknown)`]]}
    />
  )
}

/** Rules of handles that only the service crosses, as after a change of the type. */
function UnfitRules({ draft, node }: HandlesProps) {
  const faults = useFaultsUnder(node)
  if (faults.length === 0) return null
  return (
    <>
      <h3>Who crosses its handles</h3>
      <p className="fault">{faults.join(' ')}</p>
      <div className="actions">
        <Button onClick={() => draft.edit(setValue(['nodes', node.index, 'handles'], undefined))}>
          Remove the rules of handles
        </Button>
      </div>
    </>
  )
}

function useFaultsUnder({ index }: NodeModel, ...names: readonly string[]): readonly string[] {
  const problems = useProblemsUnder(printPath(['nodes', index, 'handles', ...names]))
  return problems.filter(({ kind }) => kind === 'fault').map(({ message }) => sentence(message))
}
