import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { SelectField } from '../../ui/form.tsx'
import { Loading, Notice } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { type Merge, mergeDefinitions } from '../model/merge.ts'
import { describeChanges } from '../model/words.ts'
import { ChangeList } from '../review/change-list.tsx'
import { useVersion } from '../versions/use-version.ts'
import { type Draft, useDraftState } from './draft.ts'
import { usePublications } from './use-publications.ts'

interface NoticesProps {
  readonly draft: Draft
  readonly environment: string
  readonly scenarioId: string
  readonly current: { readonly version: number; readonly publishedAt: string | null }
}

/** The notices about a draft: it was restored, another version is current, or the browser cannot keep it. */
export function DraftNotices(props: NoticesProps) {
  const { draft, environment, current } = props
  const { restoredAt, base, isChanged, isKept } = useDraftState(draft)
  const isBehind = isChanged && current.version > base.version
  const at = restoredAt === null ? null : new Date(restoredAt).toISOString()
  return (
    <>
      {at !== null && isChanged && (
        <Notice tone="info">
          Your draft of <Time at={at} /> was restored from this browser. It is based on{' '}
          {base.version === 0 ? 'no version' : `version ${base.version}`}.{' '}
          <Button tone="quiet" onClick={() => draft.accept()}>
            Keep it
          </Button>{' '}
          {base.version > 0 && !isBehind && (
            <Button tone="quiet" onClick={() => draft.rebase(base, base.text)}>
              Discard it
            </Button>
          )}
        </Notice>
      )}
      {isBehind && <Behind {...props} />}
      {isChanged && current.version < base.version && (
        <Notice tone="warning">
          Version {current.version} is current in {environment}. It is older than version {base.version}, with which
          this draft began. The database may have been restored.
        </Notice>
      )}
      {!isKept && (
        <Notice tone="warning">
          This browser cannot keep the draft: its storage is full or blocked. The draft ends with this page. Publish it,
          or copy its JSON.
        </Notice>
      )}
    </>
  )
}

/** Another designer has published. Nothing is overwritten: a person decides. */
function Behind({ draft, environment, scenarioId, current }: NoticesProps) {
  const { base } = useDraftState(draft)
  const publication = usePublications(environment, scenarioId).get(current.version)
  const [isOpen, setOpen] = useState(false)
  return (
    <Notice tone="warning">
      <strong>
        Version {current.version} was published meanwhile{publication ? ` by ${publication.who}` : ''}
      </strong>{' '}
      on <Time at={current.publishedAt} />
      {publication?.reason ? `: “${publication.reason}”` : ''}. Your draft is based on{' '}
      {base.version === 0 ? 'no version' : `version ${base.version}`}, so it cannot be published.{' '}
      <Button onClick={() => setOpen(true)}>Show and decide</Button>
      {isOpen && (
        <RebaseDialog
          draft={draft}
          environment={environment}
          scenarioId={scenarioId}
          version={current.version}
          onClose={() => setOpen(false)}
        />
      )}
    </Notice>
  )
}

function RebaseDialog(props: {
  readonly draft: Draft
  readonly environment: string
  readonly scenarioId: string
  readonly version: number
  readonly onClose: () => void
}) {
  const { draft, environment, scenarioId, version, onClose } = props
  const { base, history } = useDraftState(draft)
  const { version: theirs } = useVersion(environment, scenarioId, version)
  const [prefer, setPrefer] = useState<'mine' | 'theirs'>('mine')

  const merge: Merge | undefined = theirs && mergeDefinitions(base.text || '{}', history.text, theirs.text, prefer)
  return (
    <Dialog title={`Version ${version} was published meanwhile`} onClose={onClose} wide>
      {!theirs ? (
        <Loading />
      ) : (
        <>
          <h3>What version {version} changed</h3>
          <ChangeList changes={describeChanges(base.text || '{}', theirs.text)} />
          <h3>What your draft changes</h3>
          <ChangeList changes={describeChanges(base.text || '{}', history.text)} />
          {merge && merge.conflicts.length > 0 && (
            <>
              <Notice tone="warning">
                {merge.conflicts.length === 1 ? '1 value was' : `${merge.conflicts.length} values were`} changed by
                both.
              </Notice>
              <SelectField
                label="Values that both have changed"
                name="prefer"
                value={prefer}
                onChange={(value) => setPrefer(value === 'theirs' ? 'theirs' : 'mine')}
                options={[
                  ['mine', 'take mine'],
                  ['theirs', `take those of version ${version}`],
                ]}
              />
            </>
          )}
          {merge && (
            <>
              <h3>What your draft would then change in version {version}</h3>
              <ChangeList changes={describeChanges(theirs.text, merge.text)} />
            </>
          )}
          {merge && merge.lost.length > 0 && (
            <Notice tone="warning">
              {merge.lost.length === 1 ? '1 of your changes has' : `${merge.lost.length} of your changes have`} no place
              in version {version}, which removed the changed values.
            </Notice>
          )}
          {!merge && <Notice tone="warning">Your draft is not valid JSON. Fix it in the JSON view first.</Notice>}
          <div className="actions">
            <Button onClick={onClose}>Decide later</Button>
            <Button
              tone="danger"
              onClick={() => {
                draft.rebase(theirs, theirs.text)
                onClose()
              }}
            >
              Discard my draft
            </Button>
            <Button
              tone="primary"
              disabled={!merge}
              onClick={() => {
                if (merge) draft.rebase(theirs, merge.text)
                onClose()
              }}
            >
              Carry my changes over
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
