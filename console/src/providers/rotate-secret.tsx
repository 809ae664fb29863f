import { MAX_SECRET } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
import { copy, Id } from '../ui/text.tsx'
import type { CustomProvider } from './operations.ts'
import { rotateSecretMutation } from './operations.ts'
import { useRecentLogins } from './recent-logins.ts'
import { newSecret } from './secret.ts'

const OVERLAPS = [
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
  ['2592000', '30 days'],
  ['0', 'not at all: it ends at once'],
] as const

const HEADERS = [
  ['', 'Choose…'],
  ['webhook-signature', 'webhook-signature (Standard Webhooks)'],
  ['X-Signature', 'X-Signature, or I do not know'],
] as const

/**
 * Replaces the secret of a provider. A webhook that checks `X-Signature`, which has one signature, must know the new
 * secret before that. A webhook that checks `webhook-signature` can get it afterwards.
 */
export function RotateSecret({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const { name } = provider
  const environment = useEnvironment()
  const recent = useRecentLogins(name)
  // Made here, once: a press that is repeated after a lost answer sends the same secret, and takes effect once.
  const fields = useFields(() => ({ header: '', overlapSeconds: '86400', secret: newSecret(), isDeployed: false }))
  const { header, overlapSeconds: overlap, secret, isDeployed } = fields.values
  const isFirst = header === 'X-Signature'
  const length = OVERLAPS.find(([seconds]) => seconds === overlap)?.[1]
  return (
    <ChangeDialog
      title={`Rotate the secret of ${name}`}
      effect={
        header === '' ? (
          'Choose the header that the webhook checks to see what this will do.'
        ) : (
          <>
            <p>{isFirst ? effectOfFirst(overlap, length) : effectOfBoth(overlap, length)}</p>
            {recent && <p>{recent}</p>}
          </>
        )
      }
      confirm="Rotate"
      tone={overlap === '0' ? 'danger' : 'primary'}
      disabled={header === '' || (isFirst && (!isDeployed || secret === ''))}
      mutation={rotateSecretMutation}
      input={{ environment, name, secret, overlapSeconds: Number(overlap) }}
      done={() => ({
        done: <Rotated secret={secret} length={length} overlap={overlap} isFirst={isFirst} />,
        isShownOnce: true,
      })}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          {
            kind: 'choice',
            name: 'header',
            label: 'Header that the webhook checks',
            options: HEADERS,
            hint: 'Ask the engineers of the webhook. In the wrong order, logins fail.',
          },
          { kind: 'choice', name: 'overlapSeconds', label: 'How long the old secret still signs', options: OVERLAPS },
          isFirst && {
            name: 'secret',
            label: 'New secret',
            hint: 'Deploy the webhook so that it accepts a signature by either secret. Then rotate. If it has a new secret already, enter that one.',
            autoComplete: 'off',
            maxLength: MAX_SECRET,
            isTrimmed: true,
            required: true,
          },
          isFirst && (
            <div key="copy" className="actions">
              <Button onClick={() => void copy(secret)}>Copy the new secret</Button>
            </div>
          ),
          isFirst && {
            kind: 'check',
            name: 'isDeployed',
            label: 'Every server of the webhook accepts both secrets',
          },
        ]}
      />
    </ChangeDialog>
  )
}

const Rotated = (of: { secret: string; length: string | undefined; overlap: string; isFirst: boolean }) => (
  <>
    <p>The new secret signs from now on. Copy it now: it is not shown again.</p>
    <Id of={of.secret} />
    <p>
      {of.overlap === '0' ? 'The old one has ended.' : `The old one signs for ${of.length}.`}{' '}
      {of.isFirst
        ? 'Wait ten seconds for the logins under way. Then the webhook can forget the old one.'
        : 'Wait ten seconds for the logins under way, then give the webhook the new one.'}
    </p>
  </>
)

const effectOfFirst = (overlap: string, length: string | undefined): string =>
  overlap === '0'
    ? 'X-Signature is by the new secret from the next login on, and the old secret ends at once.'
    : `X-Signature is by the new secret from the next login on. In webhook-signature, both sign for ${length}.`

const effectOfBoth = (overlap: string, length: string | undefined): string =>
  overlap === '0'
    ? 'The new secret signs from the next login on, and the old one ends at once. Until the webhook knows the new one, every login fails.'
    : `Both secrets sign for ${length}, and the webhook accepts either. Give it the new one within this time: no login fails.`
