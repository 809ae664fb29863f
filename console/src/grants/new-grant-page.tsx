import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { DEFAULT_GRANT_PLAYERS, MAX_SUPPORT_PLAYERS } from '../../../src/base/limits.ts'
import { readFilters, unreadFilters } from '../players/filters.ts'
import { PlayerName } from '../players/player-name.tsx'
import { useDenial } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { type Fault, faultsOf, isOutcomeOpen, sentence, textOf } from '../ui/errors.ts'
import { Form, ReasonField, SubmitButton, TextField } from '../ui/form.tsx'
import { momentOf } from '../ui/moment-field.ts'
import { Figures, Page, Panel } from '../ui/page.tsx'
import { playersText } from '../ui/players-text.ts'
import { useSend } from '../ui/send.ts'
import { Empty, Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { toast } from '../ui/toast.tsx'
import { number, words } from '../ui/words.ts'
import { jobHref } from './addresses.ts'
import { assetsText, giftOf, giftText, idsOf, NO_GIFT, type PreviewInput } from './gift.ts'
import css from './grants.module.css'
import { MessagePanel } from './message.tsx'
import { messageOf, NO_MESSAGE } from './message-fields.ts'
import { createJobMutation } from './operations.ts'
import { type Preview, usePreview } from './use-preview.ts'
import { WhatPanel } from './what.tsx'
import { useUpload, WhomPanel, whomOf } from './whom.tsx'

/** A new grant: its steps, and beside them what it would do now. */
export default function NewGrantPage() {
  const environment = useEnvironment()
  const denial = useDenial('jobs')
  const list = <Link href={`/env/${environment}/grants`}>All grants</Link>
  return (
    <Page title="New grant" actions={list}>
      {denial === undefined ? <NewGrant /> : <Empty title="Not allowed">{denial}</Empty>}
    </Page>
  )
}

function NewGrant() {
  const environment = useEnvironment()
  const send = useSend()
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const [ids, setIds] = useState('')
  const [limit, setLimit] = useState(String(DEFAULT_GRANT_PLAYERS))
  const [gift, setGift] = useState(NO_GIFT)
  const [allowNew, setAllowNew] = useState(false)
  const [message, setMessage] = useState(NO_MESSAGE)
  const [start, setStart] = useState('')
  const [reason, setReason] = useState('')
  const [attempt, setAttempt] = useState(0)
  const [failure, setFailure] = useState<ActionResult>()
  const upload = useUpload()

  const whom = whomOf(search)
  const uploaded = whom === 'list' && upload.result && 'listId' in upload.result ? upload.result : undefined
  const hasAmounts = uploaded?.hasAmounts ?? false
  const give = giftOf(gift, hasAmounts)
  const isMessageAlone = gift.kind === 'message'
  const texts = messageOf({ ...message, isSent: message.isSent || isMessageAlone })
  const to = targetOf()
  const input: PreviewInput | undefined =
    to && give !== undefined && texts !== undefined && /^[1-9]\d{0,6}$/.test(limit)
      ? { environment, to, ...(give && { give }), ...texts, allowNew, limit: Number(limit) }
      : undefined
  const answer = usePreview(input, attempt)
  const preview = answer?.preview
  const isTooMany = preview !== undefined && preview.players > Number(limit)
  const canSend = preview !== undefined && preview.players > 0 && !isTooMany

  function targetOf(): PreviewInput['to'] | undefined {
    switch (whom) {
      case 'filter':
        return unreadFilters(search).length > 0 ? undefined : { filter: readFilters(search).filter }
      case 'segment': {
        const segment = search.get('segment')
        return segment === null ? undefined : { segment }
      }
      case 'players': {
        const playerIds = idsOf(ids)
        return playerIds.length > 0 && playerIds.length <= MAX_SUPPORT_PLAYERS ? { playerIds } : undefined
      }
      default:
        return uploaded && { listId: uploaded.listId }
    }
  }

  async function submit(): Promise<void> {
    if (!input) return
    setFailure(undefined)
    const startsAt = momentOf(start)
    const context = { additionalTypenames: ['GrantJob'] }
    const asked = { ...input, ...(startsAt && { startsAt }) }
    const sent = await send({ mutation: createJobMutation, input: asked, isOnce: true, context }, reason)
    if (!sent.answer) return setFailure(sent)
    toast('The grant is made.', 'success')
    navigate(jobHref(environment, sent.answer.job.jobId))
  }

  const error = failure?.error ?? answer?.error
  const faults = faultsOf(error).map(shortened)
  return (
    <Form onSubmit={submit} faults={faults.filter(isOfField)}>
      <div className={css.new}>
        <div className={css.steps}>
          <WhomPanel ids={ids} onIds={setIds} upload={upload} limit={limit} onLimit={setLimit} />
          <WhatPanel
            gift={gift}
            onChange={(change) => setGift((before) => ({ ...before, ...change }))}
            allowNew={allowNew}
            onAllowNew={setAllowNew}
            hasAmounts={hasAmounts}
          />
          <MessagePanel
            fields={message}
            onChange={(change) => setMessage((before) => ({ ...before, ...change }))}
            isRequired={isMessageAlone}
            hasRewards={gift.kind === 'rewards'}
          />
          <Panel title="4. When and why">
            <TextField
              isMoment
              label="Starts"
              name="startsAt"
              hint="Empty: at once. The players are looked up when it starts."
              value={start}
              onChange={setStart}
            />
            <ReasonField value={reason} onChange={setReason} />
          </Panel>
        </div>
        <aside className={css.summary} aria-label="What will happen">
          <Panel title="What will happen">
            <div role="status">
              {input === undefined && <p className="muted">Fill in the steps to see what will happen.</p>}
              {input !== undefined && answer === undefined && <p className="muted">Counting…</p>}
            </div>
            {preview && <Summary of={preview} />}
            {isTooMany && (
              <Notice tone="error">
                {playersText(preview.players, preview.isExact)} match, and the grant is for {number(limit)} at most:
                nothing would be given.
              </Notice>
            )}
            {preview?.players === 0 && <Notice tone="warning">No player matches now.</Notice>}
            {preview?.needsApproval && canSend && (
              <Notice tone="warning">A second person must approve this grant. Until then nobody gets anything.</Notice>
            )}
            {failure?.refusal && <Notice tone="error">{failure.refusal}</Notice>}
            {error && (
              <Notice tone="error">
                {textOf(error)}
                {faults
                  .filter((fault) => !isOfField(fault))
                  .map(({ path, message: fault }) => (
                    <p key={`${path} ${fault}`}>
                      {path && <code>{path}</code>} {sentence(fault)}
                    </p>
                  ))}
              </Notice>
            )}
            {!failure?.error && isOutcomeOpen(answer?.error) && (
              <Button onClick={() => setAttempt((before) => before + 1)}>Try again</Button>
            )}
            <SubmitButton disabled={!canSend} whileBusy="Making the grant…">
              {preview && canSend ? `${sendText(give ?? null, preview)}${momentOf(start) ? ' later' : ''}` : 'Give'}
            </SubmitButton>
          </Panel>
        </aside>
      </div>
    </Form>
  )
}

/** What the button will do, in words. */
function sendText(give: NonNullable<PreviewInput['give']> | null, { players, isExact }: Preview): string {
  const whom = playersText(players, isExact)
  return give === null ? `Send a message to ${whom}` : `Give ${giftText(give)} to ${whom}`
}

/** A fault with the path that a field of the page has: `rewards-0-amount` for `input.give.rewards[0].amount`. */
const shortened = ({ path, message }: Fault): Fault => ({
  path: path
    .replace(/^input\.((to|give)\.((xp|levels|premium|filter)\.)?)?/, '')
    .replace(/^rewards\[(\d+)\]\.?/, 'rewards-$1-')
    // An unknown currency: the check allows it.
    .replace(/^currency$/, 'allowNew'),
  message,
})

/** Whether a fault is shown at a field. Any other one is beside the button. */
const isOfField = ({ path }: Fault): boolean =>
  /^(rewards-|playerIds|segment$|allowNew$|limit$|startsAt$|reason$|image$|expiresInDays$)/.test(path)

function Summary({ of }: { of: Preview }) {
  const { players, isExact, total, totalXp, largest, failing } = of
  return (
    <>
      <Figures
        of={[
          ['Players', `${number(players)}${isExact ? '' : ' or more'}`],
          ...(total.length > 0 ? [['In all', assetsText(total)] as const] : []),
          ...(totalXp === '0' ? [] : [['In all', `${number(totalXp)} xp`] as const]),
        ]}
      />
      {!isExact && <p className="muted">There are more players than could be looked at. The sums are of these.</p>}
      {failing.length > 0 && (
        <Table
          caption="Players who would get nothing now"
          rows={failing}
          keyOf={({ cause }) => cause}
          columns={[
            { title: 'Would get nothing', cell: ({ cause }) => words(cause) },
            { title: 'Players', isNumber: true, cell: (one) => number(one.players) },
          ]}
        />
      )}
      {largest.length > 0 && (
        <Table
          caption="The largest amounts"
          rows={largest}
          keyOf={({ playerId }) => playerId}
          columns={[
            {
              title: 'Largest amounts',
              cell: ({ playerId }) => <PlayerName of={playerId} />,
            },
            { title: 'Amount', isNumber: true, cell: ({ amount }) => number(amount) },
          ]}
        />
      )}
    </>
  )
}
