import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react'
import { type Right, useDenial } from '../session/permission.tsx'
import { RoleButton } from './button.tsx'

export interface MenuItem {
  readonly name: string
  readonly note?: string
  readonly tone?: 'danger'
  readonly run: () => void
}

interface MenuProps {
  readonly name: string
  readonly items: readonly MenuItem[]
}

/** A menu of actions that need a right. Without it its button says so, and opens nothing. */
export function RoleMenu({ needs, ...menu }: MenuProps & { readonly needs: Right }) {
  const denial = useDenial(needs)
  return denial === undefined ? (
    <Menu {...menu} />
  ) : (
    <RoleButton needs={needs}>
      <Label name={menu.name} />
    </RoleButton>
  )
}

const Label = ({ name }: { name: string }) => (
  <>
    {name} <span aria-hidden="true">▾</span>
  </>
)

/** A button with a menu below it. The keys are those of other menus: arrows, Home, End, Escape, Tab. */
export function Menu({ name, items }: MenuProps) {
  /** The item with the focus; null while the menu is closed. */
  const [place, setPlace] = useState<number | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    if (place !== null) list.current?.querySelectorAll<HTMLElement>('[role="menuitem"]')[place]?.focus()
  }, [place])

  function close(): void {
    setPlace(null)
    button.current?.focus()
  }

  function onKey(event: KeyboardEvent): void {
    const last = items.length - 1
    const isOpen = place !== null
    const next = {
      ArrowDown: isOpen && place < last ? place + 1 : 0,
      ArrowUp: isOpen && place > 0 ? place - 1 : last,
      ...(isOpen && { Home: 0, End: last }),
    }[event.key]
    if (next !== undefined) setPlace(next)
    else if (event.key === 'Escape' && isOpen) close()
    else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the button and of its menu
    <div
      className="menu"
      onKeyDown={onKey}
      // With Tab, or a press anywhere else.
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setPlace(null)
      }}
    >
      <button
        type="button"
        className="button"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={place !== null}
        aria-controls={place === null ? undefined : id}
        onClick={() => setPlace(place === null ? 0 : null)}
      >
        <Label name={name} />
      </button>
      {place !== null && (
        <div id={id} role="menu" tabIndex={-1} aria-label={name} ref={list}>
          {items.map((item) => (
            <button
              // A person's own view and a shared one may have the same name.
              key={`${item.name} ${item.note}`}
              type="button"
              role="menuitem"
              tabIndex={-1}
              className={item.tone}
              onClick={() => {
                // A dialog gives the focus back to where it is now.
                close()
                item.run()
              }}
            >
              {item.name}
              {item.note !== undefined && <small>{item.note}</small>}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
