import { Component, type ReactNode } from 'react'

/** Shows an error in place of a page that failed. The rest of the console stays as it is. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null as Error | null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="state" role="alert">
        <strong>This page broke</strong>
        <p>
          Reload it. A new version of the service may have replaced the files of this page. The cause:{' '}
          <code>{error.message}</code>
        </p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    )
  }
}
