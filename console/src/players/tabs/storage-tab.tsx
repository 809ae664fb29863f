import { useState } from 'react'
import { useQuery } from 'urql'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Answer, Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { copy } from '../../ui/text.tsx'
import { Moment } from '../../ui/time.tsx'
import { number } from '../../ui/words.ts'
import { deleteStorageAction, setStorageAction } from '../actions/account-actions.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { indentedJson } from '../indented-json.ts'
import { storageKeysQuery, storageValueQuery } from '../operations.ts'
import css from '../player.module.css'
import { useParameter } from '../use-parameter.ts'
import type { TabProps } from './tab.ts'

export function StorageTab(props: TabProps) {
  const { player, open } = props
  const [key, setKey] = useParameter('key')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const pages = usePages({
    query: storageKeysQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.storageKeys,
  })
  const removed = pages.rows.filter((one) => chosen.has(one.key)).map((one) => one.key)
  const choose = (name: string, isChosen: boolean) =>
    setChosen((before) => new Set(isChosen ? [...before, name] : [...before].filter((one) => one !== name)))
  return (
    <div className="columns">
      <Panel
        title="Keys"
        actions={
          player.status === 'DELETED' ? undefined : (
            <>
              {removed.length > 0 && (
                <ActionButton tone="danger" onClick={() => open(deleteStorageAction(removed))}>
                  {`Remove ${removed.length} chosen`}
                </ActionButton>
              )}
              <ActionButton onClick={() => open(setStorageAction())}>Add a key</ActionButton>
            </>
          )
        }
      >
        <PagedTable
          caption="Keys of the storage"
          pages={pages}
          keyOf={(one) => one.key}
          empty={<Empty title="The storage is empty" />}
          columns={[
            {
              title: 'Choose',
              cell: (one) => (
                <input
                  type="checkbox"
                  aria-label={`Choose ${one.key}`}
                  checked={chosen.has(one.key)}
                  onChange={(event) => choose(one.key, event.target.checked)}
                />
              ),
            },
            {
              title: 'Key',
              cell: (one) => (
                <Button tone="quiet" pressed={one.key === key} onClick={() => setKey(one.key)}>
                  {one.key}
                </Button>
              ),
            },
            { title: 'Bytes', isNumber: true, cell: ({ bytes }) => number(bytes) },
          ]}
        />
      </Panel>
      {key !== null && <Value key={key} name={key} {...props} />}
    </div>
  )
}

function Value({ player, open, name }: TabProps & { readonly name: string }) {
  const [result, read] = useQuery({
    query: storageValueQuery,
    variables: { id: player.playerId, keys: [name] },
    requestPolicy: 'cache-and-network',
  })
  return (
    <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
      {(data) => {
        const entry = data.player?.storage[0]
        if (!entry) return <Empty title={`${name} no longer exists`} />
        return (
          <Panel
            title={entry.key}
            actions={
              <>
                <Button onClick={() => void copy(entry.value)}>Copy</Button>
                <ActionButton onClick={() => open(setStorageAction(entry.key, entry.value))}>Change</ActionButton>
                <ActionButton tone="danger" onClick={() => open(deleteStorageAction([entry.key]))}>
                  Remove
                </ActionButton>
              </>
            }
          >
            <p className="muted">
              Changed <Moment at={entry.updatedAt} />
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
            <pre className={css.json} tabIndex={0}>
              {indentedJson(entry.value)}
            </pre>
          </Panel>
        )
      }}
    </Answer>
  )
}
