import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'
import { number, words } from '../../ui/words.ts'
import { cancelMessageAction, sendMessageAction } from '../actions/message-actions.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { messageTitle } from '../message-words.ts'
import { inboxQuery } from '../operations.ts'
import type { TabProps } from './tab.ts'

export function InboxTab({ player, open }: TabProps) {
  const pages = usePages({
    query: inboxQuery,
    variables: { id: player.playerId },
    connectionOf: (data) => data.player?.inbox,
  })
  return (
    <Panel
      title="Messages"
      actions={
        player.status === 'DELETED' ? undefined : (
          <ActionButton onClick={() => open(sendMessageAction(player.language))}>Send a message</ActionButton>
        )
      }
    >
      <PagedTable
        caption="Messages of the inbox"
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="The inbox is empty" />}
        columns={[
          { title: 'Sent', cell: ({ sentAt }) => <Ago at={sentAt} /> },
          { title: 'Title', cell: (one) => messageTitle(one) },
          { title: 'Kind', cell: ({ kind }) => words(kind) },
          { title: 'Rewards', cell: ({ rewards }) => rewards.map(rewardText).join(', ') || '–' },
          { title: 'Expires', cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
          { title: 'State', cell: (one) => stateOf(one, Date.now()) },
          {
            title: 'Action',
            cell: (one) =>
              one.claimedAt === null && player.status !== 'DELETED' ? (
                <ActionButton tone="danger" onClick={() => open(cancelMessageAction(one.messageId, messageTitle(one)))}>
                  Cancel
                </ActionButton>
              ) : (
                ''
              ),
          },
        ]}
      />
    </Panel>
  )
}

interface Message {
  readonly readAt: string | null
  readonly claimedAt: string | null
  readonly expiresAt: string
}

function stateOf({ readAt, claimedAt, expiresAt }: Message, now: number): string {
  if (claimedAt !== null) return 'claimed'
  if (Date.parse(expiresAt) <= now) return 'expired'
  return readAt === null ? 'unread' : 'read'
}

const rewardText = ({
  amount,
  currency,
  itemId,
}: {
  readonly amount: string
  readonly currency: string | null
  readonly itemId: string | null
}): string => `${number(amount)} ${currency ?? itemId}`
