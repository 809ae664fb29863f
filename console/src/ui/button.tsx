import type { ReactNode } from 'react'
import { type Right, useDenial } from '../session/permission.tsx'
import { toast } from './toast.tsx'

export interface ButtonProps {
  readonly children: ReactNode
  readonly onClick?: () => void
  readonly type?: 'button' | 'submit'
  readonly tone?: 'plain' | 'primary' | 'danger' | 'quiet'
  /** Set while its action is under way. */
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly label?: string
  readonly pressed?: boolean
}

export function Button({
  children,
  onClick,
  type = 'button',
  tone = 'plain',
  busy,
  disabled,
  label,
  pressed,
}: ButtonProps) {
  return (
    <button
      type={type}
      className={`button ${tone}`}
      onClick={onClick}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      aria-label={label}
      aria-pressed={pressed}
    >
      {children}
    </button>
  )
}

/** A button for an action that needs a right. Without it it stays where it is, and says so. */
export function RoleButton({ needs, ...button }: ButtonProps & { readonly needs: Right }) {
  const denial = useDenial(needs)
  return denial === undefined ? <Button {...button} /> : <DeniedButton denial={denial} {...button} />
}

/** The button of an action that is not possible. It shows the reason when a person points at it, or presses it. */
export const DeniedButton = ({
  denial,
  tone = 'plain',
  label,
  children,
}: ButtonProps & { readonly denial: string }) => (
  <button
    type="button"
    className={`button ${tone}`}
    aria-disabled="true"
    aria-label={label}
    title={denial}
    onClick={() => toast(denial, 'error')}
  >
    {children}
  </button>
)
