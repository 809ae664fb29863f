import { useState } from 'react'
import { useQuery } from 'urql'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Answer, Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { number } from '../../ui/text.tsx'
import { Time } from '../../ui/time.tsx'
import { deleteStorageAction, setStorageAction } from '../actions/account-actions.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { storageKeysQuery, storageValueQuery } from '../operations.ts'
import css from '../player.module.css'
import type { TabProps } from './tab.ts'

export function StorageTab(props: TabProps) {
  const { player, open } = props
  const [key, setKey] = useState<string>()
  const pages = usePages({
    query: storageKeysQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.storageKeys,
  })
  return (
    <div className="columns">
      <Panel
        title="Keys"
        actions={
          player.status === 'DELETED' ? undefined : (
            <ActionButton onClick={() => open(setStorageAction(player))}>Add a key</ActionButton>
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
      {key !== undefined && <Value key={key} name={key} {...props} />}
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
        if (!entry) return <Empty title={`${name} is not there any more`} />
        return (
          <Panel
            title={entry.key}
            actions={
              <>
                <ActionButton onClick={() => open(setStorageAction(player, entry.key, entry.value))}>
                  Change
                </ActionButton>
                <ActionButton tone="danger" onClick={() => open(deleteStorageAction(player, entry.key))}>
                  Remove
                </ActionButton>
              </>
            }
          >
            <p className="muted">
              Changed <Time at={entry.updatedAt} />
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
            <pre className={css.json} tabIndex={0}>
              {indented(entry.value)}
            </pre>
          </Panel>
        )
      }}
    </Answer>
  )
}

/** JSON with indentation, unless that would round a number: then the text as it is. */
function indented(text: string): string {
  if (/\d{16,}/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
