"""python -m exactattn: the command line."""

from exactattn.cli import main

if __name__ == "__main__":
    main()
